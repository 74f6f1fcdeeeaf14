/** The main use from start to end: stores customers sealed in a SQLite file and reads them as tokens, masked, and in plain text. */
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { column, createVault, defineSchema, isVaultError, mask } from 'strongroom'
import { localKeys } from 'strongroom/keys'
import { sqliteStorage } from 'strongroom/sqlite'
import { readChinook } from './chinook.ts'
import { heading, line, table } from './terminal.ts'

const folder = mkdtempSync(join(tmpdir(), 'strongroom-quickstart-'))
const filename = join(folder, 'vault.db')

heading('1. Schema: what is sealed, how it is masked, what has tokens')
const schema = defineSchema({
  customers: {
    name: column.string({ required: true, redaction: 'MASKED', mask: mask.keepFirst(1), token: 'random' }),
    email: column.string({
      unique: true,
      normalize: ['trim', 'lowercase'],
      mask: mask.email,
      redaction: 'MASKED',
      token: 'random',
    }),
    phone: column.string({ mask: mask.keepLast(4), redaction: 'MASKED', token: 'random' }),
    address: column.string({ token: 'random' }),
    country: column.string({ encrypted: false, index: true, redaction: 'PLAIN_TEXT' }),
  },
  employees: {
    name: column.string({ required: true, redaction: 'MASKED', mask: mask.keepFirst(1) }),
    email: column.string({ unique: true }),
    born: column.date({ searchable: true }),
  },
})
const vault = await createVault({
  id: 'quickstart',
  schema,
  storage: sqliteStorage({ filename }),
  keys: localKeys({ file: join(folder, 'vault.key') }),
})
const session = vault.as({ actor: 'ann@acme.example', actorType: 'USER', roles: ['VAULT_OWNER'] })
line(`The vault is in ${filename}, its key beside it in vault.key (mode 0600).`)

heading('2. Insert: send values, receive tokens')
const { customers, employees } = readChinook()
const stored = await session.insert(
  'customers',
  customers.map((fields) => ({ fields })),
  { tokenization: true },
)
await session.insert(
  'employees',
  employees.map((fields) => ({ fields })),
)
const [first] = stored.records
if (first?.tokens.phone === undefined) throw new Error('The insert returned no token.')
line(`${customers.length} customers and ${employees.length} employees stored. What the application stores of the first customer:`)
table([{ id: first.id, ...first.tokens }])

heading('3. The database file')
const peek = new Database(filename, { readonly: true })
const row = peek.prepare('select * from records_1_customers order by id limit 1').get()
peek.close()
table([shorten(row)])
const bytes = Buffer.concat([readFileSync(filename), readFileSync(`${filename}-wal`)])
line(
  `Searched ${bytes.length} bytes of the file and its log: e-mail addresses found ${countOf(
    bytes,
    customers.map((customer) => customer.email),
  )} times,`,
)
line(
  `names found ${countOf(
    bytes,
    customers.map((customer) => customer.name),
  )} times. The country is declared plain, so it is readable.`,
)

heading('4. Read: one record at three redaction levels')
for (const redaction of ['REDACTED', 'MASKED', 'PLAIN_TEXT'] as const) {
  const { fields } = await session.getOne('customers', first.id, { redaction })
  table([{ level: redaction, ...fields }])
  if (redaction !== 'PLAIN_TEXT') line('')
}

heading('5. Detokenize: a token back to its value')
const token = first.tokens.phone
const { records: resolved } = await session.detokenize([
  { token, redaction: 'MASKED' },
  { token, redaction: 'PLAIN_TEXT' },
])
table(resolved.map(({ value, valueType }) => ({ token, valueType, value })))

heading('6. Upsert by e-mail: blanks and case do not count, so the same customer is updated')
const luis = { name: 'Luís G.', email: ' LUISG@embraer.com.br' }
const upserted = await session.insertOne('customers', luis, { upsert: 'email' })
const after = await session.getOne('customers', first.id, { redaction: 'PLAIN_TEXT', fields: ['name', 'email', 'phone'] })
line(`Same id: ${String(upserted.id === first.id)}. Values are stored as they were sent, and other columns keep theirs:`)
table([after.fields])

heading('7. A duplicate of a unique value is refused, and the error contains no value')
try {
  await session.insert('customers', [{ fields: { name: 'Another Customer', email: 'luisg@embraer.com.br' } }])
} catch (error) {
  if (!isVaultError(error)) throw error
  line(`${error.code} (grpc ${error.grpcCode}): ${error.message}`)
}
await vault.close()
line('')
line(`Done. The sealed file remains at ${filename}.`)

/** Returns how many of the texts occur in the bytes. */
function countOf(haystack: Buffer, texts: readonly string[]): number {
  return texts.filter((text) => haystack.includes(text)).length
}

/** Returns a raw row with its bytes cut to fit a line. */
function shorten(raw: unknown): Record<string, unknown> {
  const entries = Object.entries(raw ?? {}).map(([name, cell]) => {
    const shown = cell instanceof Uint8Array ? `${Buffer.from(cell).toString('hex').slice(0, 20)}… (${cell.length} bytes)` : cell
    return [name, shown]
  })
  return Object.fromEntries(entries)
}
