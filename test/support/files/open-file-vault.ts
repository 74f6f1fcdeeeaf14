/** A vault with files whose clock, blob store and scanner a test controls. */
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { VaultError } from '../../../src/core/errors.ts'
import type { BlobStore, FileScanner, ScannedFile, ScanVerdict } from '../../../src/core/ports/blobs.ts'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { FILES } from '../../../src/core/schema/system-tables.ts'
import { openVault } from '../../../src/core/vault/open-vault.ts'
import type { Vault } from '../../../src/core/vault/vault.ts'
import { column, defineSchema, type Log, type PolicyFor, type Session } from '../../../src/index.ts'
import { START_MS } from '../vaults/open-untyped.ts'
import { STOPPED_TIMER, SYSTEM_PORTS } from '../vaults/system-ports.ts'
import { OWNER, TEST_SECRET } from '../vaults/test-vault.ts'

/** People with two files. */
export const fileSchema = defineSchema({
  people: {
    name: column.string({ redaction: 'PLAIN_TEXT' }),
    country: column.string({ encrypted: false, redaction: 'PLAIN_TEXT' }),
    photo: column.file({ allowedTypes: ['image/*'], redaction: 'PLAIN_TEXT' }),
    paper: column.file({ maxBytes: 400_000 }),
  },
  teams: { name: column.string({ required: true }), badge: column.file() },
})

export type FileTables = (typeof fileSchema)['tables']

/** Options; each has a default. */
export interface FileVaultOptions {
  readonly blobs?: BlobStore
  readonly scanner?: FileScanner
  readonly onInfected?: 'quarantine' | 'delete'
  readonly clock?: { ms: number }
  readonly audit?: 'on' | 'off'
  readonly policy?: PolicyFor<FileTables>
  readonly log?: Log
}

/** A vault under test, and its parts. */
export interface FileVault {
  readonly vault: Vault<FileTables>
  readonly session: Session<FileTables>
  readonly storage: StorageHandle
  readonly blobs: CountedBlobs
  readonly clock: { ms: number }
  /** Inserts a person without files, and returns the id. */
  person(country?: string): Promise<string>
  /** The number of rows of files, whatever their state. */
  fileRows(): Promise<number>
}

/** Opens the vault. */
export async function openFileVault(storage: StorageHandle, options: FileVaultOptions = {}): Promise<FileVault> {
  const { clock = { ms: START_MS }, blobs = countedBlobs(), ...others } = options
  const vault = await openVault({
    ...SYSTEM_PORTS,
    ...others,
    blobs,
    id: 'v1',
    schema: fileSchema,
    storage,
    keys: localKeys({ key: TEST_SECRET }),
    clock: { now: () => BigInt(clock.ms) * 1_000_000n },
    // Scans run only when a test asks for them.
    timer: STOPPED_TIMER,
  })
  const session = vault.as(OWNER)
  return {
    vault,
    session,
    storage,
    blobs: 'keys' in blobs ? (blobs as CountedBlobs) : countedBlobs(),
    clock,
    async person(country = 'SE') {
      const { records } = await session.insert('people', [{ fields: { name: 'Ann', country } }])
      return records[0]?.id ?? ''
    },
    fileRows: async () => Number((await storage.aggregate(FILES.name, { kind: 'all' }, [{ kind: 'count' }]))[0]),
  }
}

/** A blob store in memory that shows what it holds. */
export interface CountedBlobs extends BlobStore {
  readonly stored: Map<string, Uint8Array>
  keys(): string[]
}

/** Returns an empty blob store in memory. */
export function countedBlobs(): CountedBlobs {
  const stored = new Map<string, Uint8Array>()
  return {
    stored,
    keys: () => [...stored.keys()],
    async write(key, content) {
      const chunks: Uint8Array[] = []
      for await (const chunk of content) chunks.push(chunk.slice())
      stored.set(key, Buffer.concat(chunks))
    },
    async *read(key, { start, end }) {
      for (let from = start; from < end; from += CHUNK) {
        const blob = stored.get(key)
        if (blob === undefined) throw new VaultError('not_found', 'There is no blob of this key.')
        if (from >= blob.length) return
        yield blob.slice(from, Math.min(end, from + CHUNK))
      }
    },
    async delete(keys) {
      for (const key of keys) stored.delete(key)
    },
    async close() {},
  }
}

/** Not a divisor of the length of a sealed piece, so that chunks and pieces end at different offsets. */
const CHUNK = 50_000

/** Returns a scanner whose verdicts a test gives. It reads the whole content first. */
export function scriptedScanner(
  verdictOf: (content: Buffer, file: ScannedFile) => ScanVerdict | Promise<ScanVerdict>,
): FileScanner {
  return {
    async scan(file) {
      const chunks: Uint8Array[] = []
      for await (const chunk of file.content) chunks.push(chunk.slice())
      return verdictOf(Buffer.concat(chunks), file)
    },
  }
}

/** Reads a stream to its end. */
export async function bytesOf(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of stream) chunks.push(chunk.slice())
  return Buffer.concat(chunks)
}

/** The first bytes of a PNG file, then `length` others. */
export function pngOf(length: number, fill = 7): Uint8Array {
  const head = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52)
  const bytes = new Uint8Array(head.length + length).fill(fill)
  bytes.set(head)
  return bytes
}
