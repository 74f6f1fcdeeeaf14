/** Certificates for a PostgreSQL server with TLS, made by openssl for one run. */
import { execFileSync } from 'node:child_process'
import { chownSync, copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { queryServer } from './query-server.ts'
import { unprivilegedAccount } from './server.ts'

/** A certificate, by how it is wrong. The good one is for 127.0.0.1, of the authority in `caFile`. */
export type CertificateName = 'good' | 'selfSigned' | 'expired' | 'otherHost'

export interface Certificates {
  /** The settings of a server that begins with the good one. */
  readonly settings: readonly string[]
  /** The certificate of the authority that signed all but the one that is self-signed. */
  readonly caFile: string
  /** Gives a running server another certificate, and waits until new connections get it. `url` is a superuser's address. */
  use(name: CertificateName, url: string): Promise<void>
  remove(): void
}

/** What each certificate is for, the days until it ends, and whether the authority signs it. */
const KINDS: Readonly<Record<CertificateName, readonly [host: string, days: number, isSigned: boolean]>> = {
  good: ['IP:127.0.0.1', 2, true],
  selfSigned: ['IP:127.0.0.1', 2, false],
  expired: ['IP:127.0.0.1', -1, true],
  otherHost: ['DNS:other.example', 2, true],
}

export function makeCertificates(): Certificates {
  const account = unprivilegedAccount()
  const directory = mkdtempSync(path.join(tmpdir(), 'strongroom-certificates-'))
  const file = (name: string) => path.join(directory, name)
  const openssl = (...words: readonly string[]) => execFileSync('openssl', words, { stdio: 'pipe' })
  const key = (name: string) => [
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
    '-keyout',
    file(`${name}.key`),
  ]
  openssl('req', '-x509', ...key('ca'), '-out', file('ca.crt'), '-subj', '/CN=ca', '-days', '2')
  for (const [name, [host, days, isSigned]] of Object.entries(KINDS)) {
    const request = file(`${name}.csr`)
    openssl('req', '-new', ...key(name), '-out', request, '-subj', `/CN=${name}`, '-addext', `subjectAltName=${host}`)
    const signer = isSigned ? ['-CA', file('ca.crt'), '-CAkey', file('ca.key')] : ['-signkey', file(`${name}.key`)]
    const ending = ['-days', String(days), '-copy_extensions', 'copy', '-out', file(`${name}.crt`)]
    openssl('x509', '-req', '-in', request, ...signer, ...ending)
  }
  const place = (name: CertificateName): void => {
    for (const kind of ['crt', 'key']) {
      copyFileSync(file(`${name}.${kind}`), file(`server.${kind}`))
      if (account !== undefined) chownSync(file(`server.${kind}`), account.uid, account.gid)
    }
  }
  place('good')
  if (account !== undefined) chownSync(directory, account.uid, account.gid)
  return {
    settings: ['ssl=on', `ssl_cert_file=${file('server.crt')}`, `ssl_key_file=${file('server.key')}`],
    caFile: file('ca.crt'),
    async use(name, url) {
      place(name)
      const [before] = await queryServer<{ at: Date }>(url, 'select pg_conf_load_time() as at')
      await queryServer(url, 'select pg_reload_conf()')
      for (;;) {
        const [now] = await queryServer<{ at: Date }>(url, 'select pg_conf_load_time() as at')
        if (now?.at.getTime() !== before?.at.getTime()) return
      }
    },
    remove: () => rmSync(directory, { recursive: true, force: true }),
  }
}
