/** placeholder until the blob stores land */

import { VaultError } from '../errors.ts'
import type { BlobStore } from '../ports/blobs.ts'
import type { Storage } from '../ports/storage.ts'

const blobs = new Map<string, Uint8Array>()
export function databaseBlobs(_storage: Storage): BlobStore {
  return {
    async write(key, content) {
      const parts: Uint8Array[] = []
      for await (const c of content) parts.push(c.slice())
      const out = new Uint8Array(parts.reduce((n, p) => n + p.length, 0))
      let at = 0
      for (const p of parts) {
        out.set(p, at)
        at += p.length
      }
      blobs.set(key, out)
    },
    async *read(key, { start, end }) {
      const b = blobs.get(key)
      if (b === undefined) throw new VaultError('not_found', 'no blob')
      for (let s = start; s < Math.min(end, b.length); s += 100_000) yield b.slice(s, Math.min(end, s + 100_000))
    },
    async delete(keys) {
      for (const k of keys) blobs.delete(k)
    },
    async close() {},
  }
}
