/** The certificate of the server and its key, read from files when it starts and when the operator asks for it. */
import { readFile } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'
import { CommandFailure, codeOf, EXIT } from '../failure.ts'

/** Names of PEM files. */
export interface TlsFiles {
  readonly cert: string
  readonly key: string
}

/** What node:tls takes. */
export interface TlsPair {
  readonly cert: Buffer
  readonly key: Buffer
}

/** Reads a pair, and checks that the key is that of the certificate. Throws `CommandFailure` that names the file. */
export async function readTlsFiles({ cert, key }: TlsFiles): Promise<TlsPair> {
  const pair = { cert: await read(cert, 'certificate'), key: await read(key, 'key') }
  try {
    createSecureContext(pair)
  } catch {
    // What OpenSSL says of a key stays here.
    throw new CommandFailure(EXIT.config, `The TLS files ${cert} and ${key} are no certificate and its key in PEM. Check both.`)
  }
  return pair
}

async function read(file: string, what: string): Promise<Buffer> {
  try {
    return await readFile(file)
  } catch (error) {
    throw new CommandFailure(
      EXIT.config,
      `The TLS ${what} ${file} cannot be read (${codeOf(error) ?? 'unknown'}). Check that it exists and that this user may read it.`,
    )
  }
}
