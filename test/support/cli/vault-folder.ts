/** A folder with a configuration and a vault of a few people, for tests of the commands. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { localKeys } from '../../../src/adapters/keys/index.ts'
import { postgresStorage } from '../../../src/adapters/postgres/index.ts'
import { sqliteStorage } from '../../../src/adapters/sqlite/index.ts'
import { column, createVault, defineSchema, mask } from '../../../src/index.ts'
import { commandFolder } from './run-command.ts'

/** Values that only VAULT_OWNER may see. */
export const SECRETS = { name: 'Annika Lindqvist', ssn: '199001011234', email: 'annika@acme.example' } as const
/** Values that the role support sees. */
export const SHOWN = { name: 'A***************', email: 'a***@acme.example' } as const

const SCHEMA = `column.string({ redaction: 'MASKED', mask: mask.keepFirst(1), token: 'random' }),
    ssn: column.string({ unique: true, redaction: 'REDACTED' }),
    email: column.string({ unique: true, redaction: 'MASKED', mask: mask.email, token: 'random' }),
    country: column.string({ encrypted: false, index: true, redaction: 'PLAIN_TEXT' })`

const schema = defineSchema({
  people: {
    name: column.string({ redaction: 'MASKED', mask: mask.keepFirst(1), token: 'random' }),
    ssn: column.string({ unique: true, redaction: 'REDACTED' }),
    email: column.string({ unique: true, redaction: 'MASKED', mask: mask.email, token: 'random' }),
    country: column.string({ encrypted: false, index: true, redaction: 'PLAIN_TEXT' }),
  },
})

/** What differs from the configuration of a sound vault, as the text of the module. */
export interface VaultFolderOptions {
  /** Columns in place of those of the stored schema. */
  readonly columns?: string
  /** Default: the role support. */
  readonly policy?: string
  /** Default: SQLite, in `data`. */
  readonly storage?: string
  readonly keys?: string
  /** Rules of the schema. Default: none. */
  readonly rules?: string
  /** More members of `vault`, and of the configuration. */
  readonly vault?: string
  readonly rest?: string
}

export const POLICY = `{ support: ['ALLOW READ, DETOKENIZATION, SEARCH ON people.*'] }`

/** Returns the text of strongroom.config.ts. */
export function configText(given: VaultFolderOptions = {}): string {
  const { columns = `name: ${SCHEMA}`, policy = POLICY, vault = '', rest = '', rules = '{}' } = given
  const { storage = `{ sqlite: { filename: 'data/vault.db' } }`, keys = `{ file: 'keys/vault.key' }` } = given
  return `import { column, defineSchema, mask } from 'strongroom'
const schema = defineSchema({
  people: {
    ${columns},
  },
}, ${rules})
void mask
export default {
  vault: { id: 'main', schema, policy: ${policy}, storage: ${storage}, keys: ${keys}, ${vault} },
  ${rest}
}
`
}

/** Makes a folder with a configuration, and no vault yet. It is removed when the test has finished. */
export function emptyVaultFolder(given?: VaultFolderOptions): string {
  const folder = commandFolder({ 'strongroom.config.ts': configText(given) })
  for (const name of ['data', 'keys']) mkdirSync(join(folder, name))
  return folder
}

/** Writes another configuration into the folder. */
export function reconfigure(folder: string, given: VaultFolderOptions): void {
  writeFileSync(join(folder, 'strongroom.config.ts'), configText(given))
}

/** Opens the vault of a folder in this process; with an address, one in PostgreSQL. The caller closes it. */
export function openFolderVault(folder: string, connectionString?: string) {
  const storage =
    connectionString === undefined
      ? sqliteStorage({ filename: join(folder, 'data/vault.db') })
      : postgresStorage({ connectionString })
  return createVault({ id: 'main', schema, storage, keys: localKeys({ file: join(folder, 'keys/vault.key') }) })
}

/** Stores the person of `SECRETS` and `more` others. Returns the id and the tokens of that person. */
export async function storePeople(folder: string, { more = 0, url }: { more?: number; url?: string } = {}) {
  const vault = await openFolderVault(folder, url)
  const owner = vault.as({ actor: 'test', actorType: 'USER', roles: ['VAULT_OWNER'] })
  const people = [
    { fields: { ...SECRETS, country: 'SE' } },
    ...Array.from({ length: more }, (_, index) => ({ fields: { name: `Bo ${index}`, country: 'NO' } })),
  ]
  let first: { readonly id: string; readonly tokens: Readonly<Record<string, string | null>> } | undefined
  for (let start = 0; start < people.length; start += 500) {
    const { records } = await owner.insert('people', people.slice(start, start + 500), { tokenization: true })
    first ??= records[0]
  }
  await vault.close()
  if (first === undefined) throw new Error('No record was stored.')
  return { id: first.id, tokens: first.tokens }
}
