/** Certificates of a server and their keys as files, made by openssl for one run. */
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface TlsFilesOfTest {
  readonly cert: string
  readonly key: string
  /** Reads both. */
  pair(): { readonly cert: Buffer; readonly key: Buffer }
  /** Puts another certificate, for the given name, in place of both. */
  replace(name: string): void
  remove(): void
}

/** Makes a certificate of the name `first` for 127.0.0.1. */
export function makeTlsFiles(): TlsFilesOfTest {
  const directory = mkdtempSync(join(tmpdir(), 'strongroom-tls-'))
  const [cert, key] = [join(directory, 'tls.crt'), join(directory, 'tls.key')]
  const make = (name: string): void => {
    const made = [join(directory, 'new.crt'), join(directory, 'new.key')] as const
    const options = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-subj', `/CN=${name}`, '-days', '2']
    const names = ['-addext', 'subjectAltName=IP:127.0.0.1']
    execFileSync('openssl', ['req', '-x509', ...options, ...names, '-out', made[0], '-keyout', made[1]], { stdio: 'pipe' })
    copyFileSync(made[0], cert)
    copyFileSync(made[1], key)
  }
  make('first')
  return {
    cert,
    key,
    pair: () => ({ cert: readFileSync(cert), key: readFileSync(key) }),
    replace: make,
    remove: () => rmSync(directory, { recursive: true, force: true }),
  }
}
