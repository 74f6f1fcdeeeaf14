/** The vault of the fault trials: every kind of token and index, and a table of counters. */
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { type Caller, column, createVault, defineSchema, type Vault } from '../../../src/index.ts'
import { TEST_SECRET } from '../vaults/test-vault.ts'

const PLAIN = { redaction: 'PLAIN_TEXT' } as const

export const trialSchema = defineSchema({
  accounts: {
    login: column.string({ unique: true, ...PLAIN }),
    amount: column.integer({ encrypted: false, index: true, ...PLAIN }),
    note: column.string({ searchable: true, ...PLAIN }),
    card: column.string({ token: { kind: 'formatPreserving', format: 'digits' }, ...PLAIN }),
    code: column.string({ token: { kind: 'transient', ttlMinutes: 20_000 }, ...PLAIN }),
    reference: column.string({ token: 'random', ...PLAIN }),
  },
  counters: {
    name: column.string({ unique: true, encrypted: false, ...PLAIN }),
    plain: column.integer({ encrypted: false, ...PLAIN }),
    sealed: column.integer(PLAIN),
  },
})

export type TrialTables = (typeof trialSchema)['tables']
export type TrialVault = Vault<TrialTables>

/** Opens the vault of the trials. */
export function openTrialVault(storage: StorageHandle): Promise<TrialVault> {
  return createVault({ id: 'trial', schema: trialSchema, storage, keys: localKeys({ key: TEST_SECRET }) })
}

/** May do everything. Its events are found by the id of the request. */
export function trialCaller(requestID: string): Caller {
  return { actor: 'trial@acme.example', actorType: 'USER', roles: ['VAULT_OWNER'], request: { requestID } }
}

/** What an account holds: every other column follows from its number. */
export interface AccountState {
  readonly number: number
}

/** The fields of an account in this state. */
export function fieldsOf({ number }: AccountState) {
  return {
    amount: number,
    note: `note ${number}`,
    card: String(4_000_000_000_000_000 + number),
    code: `code ${number}`,
    reference: `reference ${number}`,
  }
}
