/** A key leaks: the vault gets new keys while it is written to, and a copy from before opens with the old key file only. */
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { column, createVault, defineSchema, isVaultError, mask } from 'strongroom'
import { type LocalKeysOptions, localKeys } from 'strongroom/keys'
import { sqliteStorage } from 'strongroom/sqlite'
import { readChinook } from './chinook.ts'
import { heading, line, progressBar, table } from './terminal.ts'

const RECORDS = 6000
const BATCH = 1000
const WRITERS = 4

const folder = mkdtempSync(join(tmpdir(), 'strongroom-rotate-'))
const stolen = join(folder, 'stolen')
mkdirSync(stolen)
const filename = join(folder, 'vault.db')
const [oldKey, newKey] = [join(folder, 'old.key'), join(folder, 'new.key')]

const schema = defineSchema({
  customers: {
    name: column.string({ required: true, redaction: 'MASKED', mask: mask.keepFirst(1), token: 'random' }),
    email: column.string({ unique: true, redaction: 'MASKED', mask: mask.email }),
    visits: column.integer(),
  },
})
const open = (file: string, keys: LocalKeysOptions) =>
  createVault({ id: 'rotated', schema, storage: sqliteStorage({ filename: file }), keys: localKeys(keys) })
const owner = { actor: 'ann@acme.example', actorType: 'USER', roles: ['VAULT_OWNER'] } as const

heading('1. A vault with some thousand customers, under the key file old.key')
const { customers } = readChinook()
const people = Array.from({ length: RECORDS }, (_, index) => {
  const { name } = customers[index % customers.length] ?? { name: 'Ann' }
  return { fields: { name, email: `customer.${index}@acme.example`, visits: 0 } }
})
let vault = await open(filename, { file: oldKey })
const ids: string[] = []
for (let done = 0; done < RECORDS; done += BATCH) {
  const { records } = await vault.as(owner).insert('customers', people.slice(done, done + BATCH))
  for (const { id } of records) ids.push(id)
}
await showKeys()

heading('2. The leak: a copy of the database file, and of old.key')
const thief = new Database(filename, { readonly: true })
thief.prepare('vacuum into ?').run(join(stolen, 'vault.db'))
thief.close()
copyFileSync(oldKey, join(stolen, 'old.key'))
await vault.close()
line(`Both are in ${stolen}. What is in that copy stays readable; what is written from here on need not be.`)

heading('3. A new key file first, with the old one as an older one')
vault = await open(filename, { file: newKey, olderFiles: [oldKey] })
const { rewrapped } = await vault.rewrapKeys()
line(`Root keys wrapped again with new.key: ${rewrapped}. No process needs old.key from here on.`)

heading('4. The root key is replaced, beside four writers')
let writes = 0
let isRotating = true
const writers = Array.from({ length: WRITERS }, async (_, writer) => {
  const session = vault.as(owner)
  for (let turn = writer; isRotating; turn += WRITERS) {
    await session.updateOne('customers', ids[turn % RECORDS] ?? '', { visits: turn })
    writes++
  }
})
const { version, complete, resealed } = await vault.rotateKeys({ onProgress: progressBar('sealed again') })
isRotating = false
await Promise.all(writers)
line('')
line(
  `Key ${version} seals now. Sealed again: ${resealed.customers} customers and ${resealed['system.audit_events']} events. Complete: ${complete}.`,
)
line(`Writes that succeeded meanwhile: ${writes}.`)
await showKeys()

heading('5. The old keys end')
const { lost } = await vault.destroyKey(2)
line(`Key 2 is destroyed. Bodies lost with it: ${lost}.`)
await vault.close()
rmSync(oldKey)
line('old.key is deleted.')

heading('6. Who can open what')
const copy = join(stolen, 'vault.db')
table([
  {
    'the copy, with old.key': await attempt(copy, join(stolen, 'old.key')),
    'the copy, with new.key': await attempt(copy, newKey),
    'the vault, with old.key': await attempt(filename, join(stolen, 'old.key')),
    'the vault, with new.key': await attempt(filename, newKey),
  },
])
vault = await open(filename, { file: newKey })
const [{ ok }, audit] = [await vault.verifyRecords(), await vault.verifyAudit()]
line('')
line(`Records verified: ${ok}. Trail verified: ${audit.ok}, ${audit.eventCount} events.`)
await vault.close()

/** Prints the root keys and what they seal. */
async function showKeys(): Promise<void> {
  const { keys, destroyed } = await vault.keys({ count: true })
  for (const { version: key, state, bodies } of keys) {
    line(`key ${key}  ${state.padEnd(8)}  ${bodies?.customers ?? 0} customers`)
  }
  for (const { version: key } of destroyed) line(`key ${key}  destroyed`)
}

/** Opens a file with a key file. Returns how many customers can be read, or the error. */
async function attempt(file: string, key: string): Promise<string> {
  try {
    const opened = await open(file, { file: key })
    const { recordCount } = await opened.verifyRecords()
    await opened.close()
    return `opens: ${recordCount} customers`
  } catch (error) {
    if (!isVaultError(error)) throw error
    return error.code
  }
}
