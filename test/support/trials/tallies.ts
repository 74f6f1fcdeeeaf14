/** Counters with the sets of those who raised them, for writers that read both and write them back. */
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { column, createVault, defineSchema, type Session, type Vault } from '../../../src/index.ts'
import { TEST_SECRET } from '../vaults/test-vault.ts'

const schema = defineSchema({
  tallies: {
    count: column.integer({ redaction: 'PLAIN_TEXT' }),
    entries: column.json({ redaction: 'PLAIN_TEXT' }),
  },
})
type Tables = (typeof schema)['tables']

/** A session of the vault of the trial. */
export type Tallies = Session<Tables>

/** A counter, and the set of those who raised it, edited as a whole. */
export interface Tally {
  readonly count?: unknown
  readonly entries?: unknown
}

/** Opens the vault of the trial. */
export function openTallies(storage: StorageHandle): Promise<Vault<Tables>> {
  return createVault({ id: 'tallies', schema, storage, keys: localKeys({ key: TEST_SECRET }) })
}
