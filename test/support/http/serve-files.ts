/** The vault of open-file-vault.ts behind a server, with uploads in pieces that a test can stop. */
import { request } from 'node:http'
import { Readable } from 'node:stream'
import type { Vault } from '../../../src/index.ts'
import { type FileVault, type FileVaultOptions, openFileVault } from '../files/open-file-vault.ts'
import type { Engine } from '../storages/places.ts'
import { type Answer, OWNER_CREDENTIAL } from './ask.ts'
import { type ServedVault, type ServeOptions, serveVault } from './serve-vault.ts'

/** A served vault with files. */
export interface ServedFiles extends Omit<ServedVault, 'vault'>, Omit<FileVault, 'vault'> {
  readonly vault: FileVault['vault']
  /** Sends a body in chunks, no faster than the server takes it. */
  send(method: string, path: string, body: AsyncIterable<Uint8Array>, headers?: Readonly<Record<string, string>>): Promise<Answer>
}

/** Serves a vault with files on a fresh storage. The caller closes it. */
export async function serveFiles(
  engine: Engine,
  { handler, listener, ...options }: FileVaultOptions & Pick<ServeOptions, 'handler' | 'listener'> = {},
): Promise<ServedFiles> {
  const files = await openFileVault(engine.fresh().open(), options)
  // A handler uses a vault by the names of its operations only.
  const vault = files.vault as unknown as Vault
  const serving = { ...(handler === undefined ? {} : { handler }), ...(listener === undefined ? {} : { listener }) }
  const served = await serveVault({ vault, ...serving })
  return { ...served, ...files, send: (method, path, body, headers) => send(served.port, [method, path], { body, headers }) }
}

function send(
  port: number,
  [method, path]: readonly [string, string],
  given: { readonly body: AsyncIterable<Uint8Array>; readonly headers: Readonly<Record<string, string>> | undefined },
): Promise<Answer> {
  const headers = { authorization: `Bearer ${OWNER_CREDENTIAL}`, ...given.headers }
  return new Promise((resolve, reject) => {
    const outgoing = request({ host: '127.0.0.1', port, method, path, headers, agent: false }, async (response) => {
      const chunks: Buffer[] = []
      for await (const chunk of response) chunks.push(Buffer.from(chunk))
      const bytes = Buffer.concat(chunks)
      const text = bytes.toString()
      resolve({ status: response.statusCode ?? 0, headers: response.headers, bytes, text, json: JSON.parse(text) })
    })
    outgoing.on('error', reject)
    Readable.from(given.body).pipe(outgoing)
  })
}
