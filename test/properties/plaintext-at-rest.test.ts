/** Property: no plaintext of a sealed column is stored: not in the SQLite file or its log, nor in PostgreSQL's tables, files or log. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { expect, it } from 'vitest'
import { localKeys } from '../../src/adapters/keys/local-keys.ts'
import type { StorageHandle } from '../../src/core/ports/storage.ts'
import { column, createVault, defineSchema } from '../../src/index.ts'
import { startPostgres } from '../support/postgres/server.ts'
import { sqliteEngine } from '../support/storages/engines.ts'
import { openStorage } from '../support/storages/open-storage.ts'
import { OWNER, TEST_SECRET } from '../support/vaults/test-vault.ts'

/** Values of sealed columns. None may occur in stored bytes. */
const SEALED = [
  'canary-name-Zephyrine',
  'canary.email@quetzal.example',
  '987-65-4321',
  '+46 70 555 01 99',
  'Ünïcødé-canary-ж',
  'canary inside json',
]
/** A value of a plain column. The search must find it; this shows that the search works. */
const PLAIN = 'canary-in-the-open'

const schema = defineSchema({
  people: {
    name: column.string({ token: 'random', redaction: 'PLAIN_TEXT', index: 'sealed' }),
    email: column.string({ unique: true, token: 'random', normalize: ['lowercase'] }),
    ssn: column.string({ searchable: true }),
    phone: column.string(),
    odd: column.string(),
    notes: column.json(),
    country: column.string({ encrypted: false, index: true }),
  },
})

/** Inserts, reads, updates, fails and deletes, so that every statement of the vault runs with canaries. */
async function exercise(storage: StorageHandle): Promise<void> {
  const vault = await createVault({ id: 'v1', schema, storage, keys: localKeys({ key: TEST_SECRET }) })
  const people = vault.as(OWNER)
  const [name = '', email = '', ssn = '', phone = '', odd = '', inside = ''] = SEALED
  const fields = { name, email, ssn, phone, odd, notes: { deep: [inside] }, country: PLAIN }
  const { records } = await people.insert('people', [{ fields }], { tokenization: true })
  const id = records[0]?.id ?? ''
  await people.insert('people', [{ fields }]).catch(() => {})
  await people.insert('people', [{ fields }], { upsert: 'email' })
  await people.get('people', { where: { ssn: [ssn] } })
  await people.updateOne('people', id, { name: `${name} again`, ssn: phone })
  await people.detokenize([
    { token: (await people.getOne('people', id, { tokenization: true })).tokens.email ?? '', redaction: 'PLAIN_TEXT' },
  ])
  await vault.transaction(async (inside) => inside.as(OWNER).insert('people', [{ fields: { ...fields, email: `x${email}` } }]))
  const { records: target } = await people.insert('people', [{ fields: { ...fields, email: `y${email}` } }])
  await people.delete('people', [target[0]?.id ?? ''])
}

/** The encodings of a text that bytes could contain. */
function spellings(text: string): Buffer[] {
  const utf8 = Buffer.from(text, 'utf8')
  const hex = utf8.toString('hex')
  // Base64 of a text inside a longer one depends on where it begins; each of the three offsets leaves a middle part that does not.
  const base64 = [0, 1, 2].map((shift) =>
    Buffer.concat([Buffer.alloc(shift), utf8])
      .toString('base64')
      .slice(4, -4),
  )
  const reversed = [...text].reverse().join('')
  return [
    utf8,
    Buffer.from(text, 'utf16le'),
    Buffer.from(hex),
    Buffer.from(hex.toUpperCase()),
    Buffer.from(reversed),
    Buffer.from(text.toUpperCase()),
    ...base64.map((part) => Buffer.from(part)),
  ]
}

/** The texts that occur in the bytes, in any encoding. */
function foundIn(bytes: Buffer, texts: readonly string[]): string[] {
  return texts.filter((text) => spellings(text).some((spelling) => bytes.includes(spelling)))
}

function filesBelow(directory: string): Buffer {
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8' }).map((name) => join(directory, name))
  return Buffer.concat(
    files.filter((name) => statSync(name, { throwIfNoEntry: false })?.isFile() === true).map((name) => readFileSync(name)),
  )
}

const sqlite = sqliteEngine()

it('SQLite: file, write-ahead log and temporary files', async () => {
  const place = sqlite.fresh()
  const directory = dirname(place.address().filename)
  const storage = place.open()
  await exercise(storage)
  const open = filesBelow(directory)
  await storage.close()
  const closed = filesBelow(directory)
  for (const bytes of [open, closed]) {
    expect(foundIn(bytes, SEALED)).toEqual([])
    expect(foundIn(bytes, [PLAIN])).toEqual([PLAIN])
  }
})

it('Postgres: every table as text, every file of the server, and its log with parameters', async () => {
  const server = await startPostgres({ logStatements: true })
  try {
    const storage = openStorage({ engine: 'postgres', url: server.url })
    await exercise(storage)
    await storage.close()
    const client = new pg.Client({ connectionString: server.url })
    await client.connect()
    const { rows: tables } = await client.query<{ tablename: string }>(
      `select tablename from pg_tables where schemaname = 'strongroom'`,
    )
    expect(tables.length).toBeGreaterThan(1)
    const dumps: Buffer[] = []
    for (const { tablename } of tables) {
      const { rows } = await client.query<Record<string, unknown>>(`select * from strongroom."${tablename}"`)
      for (const cell of rows.flatMap((row) => Object.values(row)))
        dumps.push(cell instanceof Buffer ? cell : Buffer.from(String(cell)))
    }
    await client.query('checkpoint')
    await client.end()
    const log = readFileSync(server.logPath)
    expect(log.length).toBeGreaterThan(1000)
    for (const bytes of [Buffer.concat(dumps), log, filesBelow(dirname(server.logPath))]) {
      expect(foundIn(bytes, SEALED)).toEqual([])
      expect(foundIn(bytes, [PLAIN])).toEqual([PLAIN])
    }
  } finally {
    await server.stop()
  }
})
