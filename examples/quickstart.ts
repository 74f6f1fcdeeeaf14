/** The main job, start to end: real customers go into a sealed SQLite file and come back as tokens, masked, and in plain. */
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

heading('1. A schema: what is sealed, how it is masked, what has tokens')
const schema = defineSchema({
  customers: {
    name: column.string({ required: true, redaction: 'MASKED', mask: mask.keepFirst(1), token: 'random' }),
    email: column.string({
      unique: true,
      normalise: ['trim', 'lowercase'],
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
line(`A vault in ${filename}, its key in vault.key beside it (mode 0600).`)

heading('2. Insert: real customers go in, tokens come out')
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
if (first === undefined) throw new Error('nothing was stored')
line(`${customers.length} customers and ${employees.length} employees stored. The first customer, as your application keeps it:`)
table([{ id: first.id, ...first.tokens }])

heading('3. What the database file holds')
const peek = new Database(filename, { readonly: true })
const row = peek.prepare('select * from records_1_customers order by id limit 1').get()
peek.close()
table([shorten(row)])
const bytes = Buffer.concat([readFileSync(filename), readFileSync(`${filename}-wal`)])
line(
  `Searched ${bytes.length} bytes of file and log: every e-mail address found ${countOf(
    bytes,
    customers.map((customer) => customer.email),
  )} times,`,
)
line(
  `every name ${countOf(
    bytes,
    customers.map((customer) => customer.name),
  )} times. The country was declared plain, and shows.`,
)

heading('4. Read: one record at three levels')
for (const redaction of ['REDACTED', 'MASKED', 'PLAIN_TEXT'] as const) {
  const { fields } = await session.getOne('customers', first.id, { redaction })
  table([{ level: redaction, ...fields }])
  if (redaction !== 'PLAIN_TEXT') line('')
}

heading('5. Detokenize: a token back to its value')
const token = first.tokens.phone ?? ''
const { records: resolved } = await session.detokenize([
  { token, redaction: 'MASKED' },
  { token, redaction: 'PLAIN_TEXT' },
])
table(resolved.map(({ value, valueType }) => ({ token, valueType, value })))

heading('6. Upsert by e-mail: the same customer in other letters is found, and updated')
const upserted = await session.insert('customers', [{ fields: { name: 'Luís G.', email: ' LUISG@embraer.com.br' } }], {
  upsert: 'email',
})
const after = await session.getOne('customers', first.id, { redaction: 'PLAIN_TEXT', fields: ['name', 'email', 'phone'] })
line(`Same id: ${String(upserted.records[0]?.id === first.id)}. Columns not named kept their values:`)
table([after.fields])

heading('7. A unique value is taken once, and the error names places, never values')
try {
  await session.insert('customers', [{ fields: { name: 'Somebody else', email: 'luisg@embraer.com.br' } }])
} catch (error) {
  if (!isVaultError(error)) throw error
  line(`${error.code} (grpc ${error.grpcCode}): ${error.message}`)
}
await vault.close()
line('')
line(`Done. The sealed file stays at ${filename} if you want to look.`)

/** How often any of these texts occurs in the bytes. */
function countOf(haystack: Buffer, texts: readonly string[]): number {
  return texts.filter((text) => haystack.includes(text)).length
}

/** A raw row with its bytes cut short, to fit a line. */
function shorten(raw: unknown): Record<string, unknown> {
  const entries = Object.entries(raw ?? {}).map(([name, cell]) => {
    const shown = cell instanceof Uint8Array ? `${Buffer.from(cell).toString('hex').slice(0, 20)}… (${cell.length} bytes)` : cell
    return [name, shown]
  })
  return Object.fromEntries(entries)
}
