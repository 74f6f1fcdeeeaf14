/** A vault of papers and letters with files, whose clock and scanner the test controls. Its timer never fires. */
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import type { BlobStore, FileScanner } from '../../../src/core/ports/blobs.ts'
import type { Entropy } from '../../../src/core/ports/crypto.ts'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { openVault } from '../../../src/core/vault/open-vault.ts'
import type { OnInfected } from '../../../src/core/vault/scan-worker.ts'
import type { Vault } from '../../../src/core/vault/vault.ts'
import { column, defineSchema, type Log, type PolicyFor, type Session, type Tracing } from '../../../src/index.ts'
import { START_MS } from '../vaults/open-untyped.ts'
import { STOPPED_TIMER, SYSTEM_PORTS } from '../vaults/system-ports.ts'
import { TEST_SECRET } from '../vaults/test-vault.ts'

const PLAIN = { redaction: 'PLAIN_TEXT' } as const

/** Two FILE columns beside another column, and one that is the whole record. */
export const archive = defineSchema({
  papers: { title: column.string(PLAIN), front: column.file(PLAIN), back: column.file(PLAIN) },
  letters: { sheet: column.file({ ...PLAIN, maxBytes: 300_000 }) },
})

export type Archive = (typeof archive)['tables']
export type ArchiveSession = Session<Archive>
export type ArchiveVault = Vault<Archive>

/** Where a vault stores, and its ports. */
export interface ArchiveOptions {
  readonly storage: StorageHandle
  readonly blobs: BlobStore
  readonly clock?: { ms: number }
  readonly entropy?: Entropy
  readonly scanner?: FileScanner
  readonly onInfected?: OnInfected
  readonly policy?: PolicyFor<Archive>
  readonly log?: Log
  readonly tracing?: Tracing
  readonly audit?: 'on' | 'off'
}

/** Opens the vault. */
export function openArchive({ clock = { ms: START_MS }, ...options }: ArchiveOptions): Promise<ArchiveVault> {
  return openVault({
    ...SYSTEM_PORTS,
    ...options,
    id: 'archive',
    schema: archive,
    keys: localKeys({ key: TEST_SECRET }),
    clock: { now: () => BigInt(clock.ms) * 1_000_000n },
    timer: STOPPED_TIMER,
  })
}

/** Joins the chunks of a stream. */
export async function joined(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks)
}
