/** Imports on every storage: what is stored, what is rejected, and that an import that is run again stores nothing twice. */
import { expect, it } from 'vitest'
import { localKeys } from '../../src/adapters/keys/local-keys.ts'
import type { StorageHandle } from '../../src/core/ports/storage.ts'
import { column, createVault, defineSchema, type Session } from '../../src/index.ts'
import type { ImportSession } from '../../src/transfer/index.ts'
import { onEachStorage } from '../support/storages/engines.ts'
import { importText } from '../support/transfer/imported.ts'
import { CLERK, OWNER, TEST_SECRET } from '../support/vaults/test-vault.ts'

const schema = defineSchema({
  people: {
    name: column.string({ required: true, token: 'random' }),
    email: column.string({ unique: true, normalize: ['trim', 'lowercase'] }),
    badge: column.string({ unique: true }),
    born: column.date(),
    salary: column.integer(),
    score: column.float(),
    active: column.boolean(),
    notes: column.json(),
  },
})

const open = (storage: StorageHandle) =>
  createVault({
    id: 'v1',
    schema,
    storage,
    keys: localKeys({ key: TEST_SECRET }),
    policy: { clerk: ['ALLOW CREATE, READ ON people.name, people.email WITH REDACTION = PLAIN_TEXT'] },
  })

const table = 'people'

/** Returns the records, in the order in which they were stored. */
async function stored(session: Pick<Session<(typeof schema)['tables']>, 'get'>) {
  const { records } = await session.get(table, { limit: 1000, redaction: 'PLAIN_TEXT' })
  return records.map(({ fields }) => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)))
}

const lines = (count: number, from = 1) =>
  Array.from({ length: count }, (_, index) => `Person ${from + index},p${from + index}@x.example\n`)
const HEADER = 'name,email\n'

onEachStorage('importRecords', (engine) => {
  const fresh = async () => {
    const storage = engine.fresh().open()
    const vault = await open(storage)
    return { storage, vault, session: vault.as(OWNER) }
  }

  it('stores the texts of a CSV as values of their columns', async () => {
    const { session } = await fresh()
    const text =
      'name,email,badge,born,salary,score,active,notes\r\n"Ann ""A"" Bell",ann@x.example,,2001-02-03,9007199254740993,1.5,true,"{""a"":[1]}"\r\nBo,,"","",,,false,"""text"""\r\n'
    const imported = await importText(session, text, { table, empty: 'null' })
    expect(imported).toMatchObject({ records: 2, stored: 2, rejected: 0, skipped: 0 })
    expect(await stored(session)).toEqual([
      {
        name: 'Ann "A" Bell',
        email: 'ann@x.example',
        born: '2001-02-03',
        salary: '9007199254740993',
        score: 1.5,
        active: true,
        notes: { a: [1] },
      },
      { name: 'Bo', active: false, notes: 'text' },
    ])
  })

  it('maps fields, formats and tokens, and leaves fields out', async () => {
    const { session } = await fresh()
    const text =
      '\ufeffFull name;Mail;Token;Born;Pay;Live;Internal\nAnn; A@x.example ;tok-1;3.2.2001;1.234;Ja;secret\nBo;;;;;nein;\n'
    const columns = {
      'Full name': 'name',
      Mail: { column: 'email', trim: true },
      Token: { token: 'name' },
      Born: { column: 'born', date: 'DD.MM.YYYY' },
      Pay: { column: 'salary', decimal: ',' },
      Live: { column: 'active', true: ['ja'], false: ['nein'] },
      Internal: null,
    } as const
    expect(await importText(session, text, { table, columns, delimiter: ';' })).toMatchObject({ stored: 2, rejects: [] })
    expect(await stored(session)).toEqual([
      { name: 'Ann', email: 'A@x.example', born: '2001-02-03', salary: 1234, active: true },
      { name: 'Bo', active: false },
    ])
    expect((await session.detokenize([{ token: 'tok-1', redaction: 'PLAIN_TEXT' }])).records[0]).toMatchObject({ value: 'Ann' })
    expect(
      (await importText(session, 'Cy;tok-1\n', { table, columns: ['name', { token: 'name' }], delimiter: ';' })).rejects,
    ).toEqual([
      {
        record: 1,
        line: 1,
        column: 'name',
        code: 'conflict',
        reason: 'The token for column "name" of table "people" is already in use. Use another.',
      },
    ])
  })

  it('reads NDJSON, whose values have their own types', async () => {
    const { session } = await fresh()
    const text =
      '{"name":"Ann","salary":7,"score":1.5,"active":true,"notes":"text"}\n\n{"name":"Bo","salary":"7","active":"true"}\n[1]\n{"name":"Cy"\n{"name":"Di","person@x.example":1}\n'
    const { rejects, ...summary } = await importText(session, text, { table, format: 'ndjson' })
    expect(summary).toEqual({ records: 5, stored: 1, rejected: 4, skipped: 0, rejectedBefore: 0 })
    expect(rejects.map(({ record, line, column: of, code }) => [record, line, of, code])).toEqual([
      [2, 3, 'active', 'unprocessable'],
      [3, 4, undefined, 'invalid_request'],
      [4, 5, undefined, 'invalid_request'],
      [5, 6, undefined, 'invalid_request'],
    ])
    expect(JSON.stringify(rejects)).not.toContain('x.example')
    expect(await stored(session)).toEqual([{ name: 'Ann', salary: 7, score: 1.5, active: true, notes: 'text' }])
  })

  it('rejects records with line, column, code and reason, and stores all others', async () => {
    const { session } = await fresh()
    await session.insertOne(table, { name: 'Old', email: 'old@x.example' })
    const text = `name,email,badge,born
Ann,ann@x.example,1,2001-02-30
Bo,bo@x.example,2,2001-02-03
Cy,OLD@x.example ,3,
,di@x.example,4,
Ed,ed@x.example,2,
Fay,bo@x.example,6,
Gus,gus@x.example
Hal,hal@x.example,8,,9
Ida,"ida"@x.example,9,
Joy,joy@x.example,10,
`
    const { rejects, ...summary } = await importText(session, text, { table })
    expect(summary).toEqual({ records: 10, stored: 2, rejected: 8, skipped: 0, rejectedBefore: 0 })
    expect(rejects.map(({ record, line, column: of, code }) => [record, line, of, code])).toEqual([
      [1, 2, 'born', 'unprocessable'],
      [3, 4, 'email', 'conflict'],
      [4, 5, 'name', 'unprocessable'],
      [5, 6, 'badge', 'conflict'],
      [6, 7, 'email', 'conflict'],
      [7, 8, undefined, 'invalid_request'],
      [8, 9, undefined, 'invalid_request'],
      [9, 10, undefined, 'invalid_request'],
    ])
    expect(rejects[1]?.reason).toBe(
      'Another record of table "people" already holds this value of unique column "email". Use another value, or upsert.',
    )
    for (const value of text
      .split(/[\n,]/)
      .filter((one) => one.length > 3 && one !== 'name' && one !== 'email' && one !== 'badge' && one !== 'born'))
      expect(JSON.stringify(rejects)).not.toContain(value)
    expect((await stored(session)).map(({ name }) => name)).toEqual(['Old', 'Bo', 'Joy'])
  })

  it('stores the good ones of a batch in which hundreds are refused by the storage, upserts too', async () => {
    const { session } = await fresh()
    await importText(session, `name,badge\n${Array.from({ length: 120 }, (_, n) => `Old ${n},${n}\n`).join('')}`, { table })
    const text = `name,email,badge\n${Array.from({ length: 150 }, (_, n) => `New ${n},n${n}@x.example,${n + 60}\n`).join('')}`
    const upserted = await importText(session, text, { table, upsert: 'email' })
    expect(upserted).toMatchObject({ stored: 90, rejected: 60 })
    expect(upserted.rejects.every(({ column: of, code }) => of === 'badge' && code === 'conflict')).toBe(true)
    expect(await importText(session, text.replaceAll('@x', '@y'), { table })).toMatchObject({ stored: 0, rejected: 150 })
    const { records } = await session.get(table, { limit: 1000 })
    expect(records).toHaveLength(210)
  })

  it('updates records by a unique column', async () => {
    const { session } = await fresh()
    await importText(session, 'name,email,salary\nAnn,ann@x.example,1\nBo,bo@x.example,2\n', { table })
    const text = 'name,email,salary\nAnn B,ANN@x.example,\nCy,cy@x.example,3\nDi,,4\n'
    const { rejects } = await importText(session, text, { table, upsert: 'email' })
    expect(rejects).toMatchObject([{ record: 3, line: 4, column: 'email', code: 'unprocessable' }])
    expect(await stored(session)).toMatchObject([{ name: 'Ann B' }, { name: 'Bo', salary: 2 }, { name: 'Cy', salary: 3 }])
  })

  it('checks everything in a dry run, and stores nothing', async () => {
    const { session, vault } = await fresh()
    await session.insertOne(table, { name: 'Old', email: 'old@x.example' })
    const text = 'name,email\nAnn,ann@x.example\nBo,old@x.example\n,x\n'
    for (const upsert of [undefined, 'email'])
      expect(await importText(session, text, { table, name: 'dry', dryRun: true, ...(upsert && { upsert }) })).toMatchObject({
        stored: upsert ? 2 : 1,
        rejected: upsert ? 1 : 2,
      })
    expect(await stored(session)).toHaveLength(1)
    expect(await importText(session, text, { table, name: 'dry' })).toMatchObject({ skipped: 0, stored: 1 })
    expect(await vault.verifyAudit()).toMatchObject({ ok: true })
    expect(await vault.verifyRecords()).toMatchObject({ ok: true })
  })

  it('goes on where it ended, whatever the size of a batch, and stores nothing twice', async () => {
    const { session, vault } = await fresh()
    const text = HEADER + lines(40).join('')
    for (const [run, size] of [7, 4, 9].entries()) {
      const signal = new AbortController()
      let batches = 0
      const ended = importText(session, text, {
        table,
        name: 'people.csv',
        batchSize: size,
        signal: signal.signal,
        onProgress: () => ++batches === 2 && signal.abort(),
      })
      await expect(ended).rejects.toMatchObject({ code: 'cancelled' })
      expect((await vault.maintenance())[0]).toMatchObject({ job: 'importRecords', table, done: [14, 22, 40][run] })
    }
    expect(await importText(session, text, { table, name: 'people.csv' })).toMatchObject({ records: 40, stored: 0, skipped: 40 })
    expect(await vault.maintenance()).toEqual([])
    expect(await importText(session, text, { table, name: 'people.csv' })).toMatchObject({ records: 40, stored: 0, skipped: 40 })
    expect((await stored(session)).map(({ name }) => name)).toEqual(Array.from({ length: 40 }, (_, n) => `Person ${n + 1}`))
    // What was appended meanwhile is new.
    expect(await importText(session, text + lines(2, 41).join(''), { table, name: 'people.csv' })).toMatchObject({
      stored: 2,
      skipped: 40,
    })
  })

  it('refuses another source under the name of an import, and stores nothing of it', async () => {
    const { session } = await fresh()
    const all = lines(6)
    await importText(session, HEADER + all.join(''), { table, name: 'a' })
    const changed = { code: 'failed_precondition', message: expect.stringContaining('its first 6 records differ') }
    for (const other of [
      HEADER + ['Other,o@x.example\n', ...all.slice(1), ...lines(3, 7)].join(''),
      `name, email\n${[...all, ...lines(3, 7)].join('')}`,
    ])
      await expect(importText(session, other, { table, name: 'a' })).rejects.toMatchObject(changed)
    const short = importText(session, HEADER + all.slice(2).join(''), { table, name: 'a' })
    await expect(short).rejects.toThrow('the source ends here, and 2 more of its records were imported before')
    expect(await stored(session)).toHaveLength(6)
    expect(await importText(session, HEADER + lines(3, 7).join(''), { table, name: 'b' })).toMatchObject({ stored: 3 })
  })

  it('of two runs at once, one that is overtaken is refused, and each record is stored once', async () => {
    const { session } = await fresh()
    const text = HEADER + lines(30).join('')
    const run = (by: ImportSession) => importText(by, text, { table, name: 'a', batchSize: 5 })
    const overtaken: ImportSession = {
      async perform(name, input) {
        const result = await session.perform(name, input)
        if (input.records.length > 0) await run(session)
        return result
      },
    }
    await expect(run(overtaken)).rejects.toMatchObject({ code: 'failed_precondition' })
    expect(await stored(session)).toHaveLength(30)
    const another = await fresh()
    // The second may also begin when the first has ended, and has nothing to do then.
    const runs = await Promise.allSettled([1, 2].map(() => run(another.session)))
    const refused = runs.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
    expect(refused.map(({ code }) => code)).toEqual(['failed_precondition'].slice(0, refused.length))
    await run(another.session)
    expect(await stored(another.session)).toHaveLength(30)
  })

  it('passes on the rejects of the last batch again, which a run that was killed may not have passed on', async () => {
    const { session } = await fresh()
    const text = 'name,badge\nAnn,1\nBo,1\n,2\nCy\nDi,3\n'
    const lost: ImportSession = {
      async perform(name, input) {
        const result = await session.perform(name, input)
        if (input.records.length > 0) throw new Error('killed')
        return result
      },
    }
    await expect(importText(lost, text, { table, name: 'a', batchSize: 4 })).rejects.toThrow('killed')
    const { rejects, ...summary } = await importText(session, text, { table, name: 'a' })
    expect(summary).toEqual({ records: 5, stored: 1, rejected: 0, skipped: 4, rejectedBefore: 3 })
    expect(rejects.map(({ record, line }) => [record, line])).toEqual([
      [2, 3],
      [3, 4],
      [4, 5],
    ])
    expect((await stored(session)).map(({ name }) => name)).toEqual(['Ann', 'Di'])
  })

  it('would store records twice if the place did not commit with the batch, which these tests find', async () => {
    const { session } = await fresh()
    const text = HEADER.replace('email', 'notes') + ['Ann,1\n', 'Bo,2\n', 'Cy,3\n', 'Di,4\n'].join('')
    let calls = 0
    const apart: ImportSession = {
      async perform(name, { place, ...input }) {
        if (input.records.length === 0) return session.perform(name, { ...input, ...(place && { place }) })
        await session.perform(name, input)
        if (++calls === 2) throw new Error('killed')
        return session.perform(name, { table, records: [], ...(place && { place }) })
      },
    }
    await expect(importText(apart, text, { table, name: 'a', batchSize: 2 })).rejects.toThrow('killed')
    await importText(session, text, { table, name: 'a' })
    expect((await stored(session)).map(({ name }) => name)).toEqual(['Ann', 'Bo', 'Cy', 'Di', 'Cy', 'Di'])
  })

  it('keeps names, counts and rejects sealed', async () => {
    const storage = engine.fresh().open()
    const { as } = await open(storage)
    await importText(as(OWNER), `${HEADER}Ann,ann@x.example\n,canary\n`, {
      table,
      name: 'canary-file.csv',
      sourceName: 'canary-source',
    })
    const rows = await storage.find('maintenance', { kind: 'all' }, { order: 'asc', limit: 10 })
    expect(rows).toHaveLength(1)
    const texts = rows.flatMap((row) =>
      Object.values(row).map((cell) => (cell instanceof Uint8Array ? Buffer.from(cell).toString('latin1') : String(cell))),
    )
    expect(texts.join()).not.toMatch(/canary|people/)
  })

  it('needs the grants of an insert, and names fields that are for no column by their positions', async () => {
    const { vault, session } = await fresh()
    const text = 'name,canary@x.example\nAnn,x\n'
    await expect(importText(session, text, { table })).rejects.toThrow(
      'Import failed. Line 1: field 2 is for no column of table "people". Map it in columns, to null to leave it out.',
    )
    const clerk = vault.as(CLERK)
    expect(await importText(clerk, HEADER + lines(2).join(''), { table })).toMatchObject({ stored: 2 })
    // A column that the caller cannot see does not exist for them.
    await expect(importText(clerk, 'name,salary\nAnn,1\n', { table })).rejects.toThrow('field 2 is for no column')
    const none = vault.as({ ...CLERK, roles: [] })
    await expect(importText(none, HEADER, { table })).rejects.toMatchObject({ code: 'forbidden' })
  })
})
