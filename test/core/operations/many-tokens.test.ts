/** Lists of records with many tokens, which are made in slices: every change returns the tokens that a read of each record returns. */
import { expect, it } from 'vitest'
import { column } from '../../../src/index.ts'
import { callerOf } from '../../support/audit/audited-clients.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import {
  asLoose,
  type Cells,
  type LooseRecord,
  type LooseSession,
  type LooseStored,
  openLoose,
} from '../../support/vaults/open-untyped.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const card = { kind: 'deterministicFormatPreserving', format: 'digits' } as const
const TABLES = {
  people: {
    key: column.string({ unique: true }),
    name: column.string({ token: 'random' }),
    email: column.string({ token: 'deterministic' }),
    ssn: column.string({ token: { kind: 'formatPreserving', format: 'ssn' } }),
    account: column.string({ token: { kind: 'formatPreserving', format: 'digits', stable: true } }),
    card: column.string({ token: card }),
    spare: column.string({ token: card }),
    code: column.string({ token: 'transient' }),
  },
}
const POLICY = { writer: ['ALLOW CREATE, UPDATE ON people.*', 'ALLOW READ ON people.key'] }
/** Several slices, because three columns have derived tokens. */
const COUNT = 700

/** The fields of a record: every ninth cell is absent. `from` is the number of its values. */
function fieldsOf(row: number, from: number): Cells {
  const text = String(4_000_000 + from + row)
  const all = {
    name: `n${text}`,
    email: `e${text}`,
    ssn: `${String(100 + (row % 500))}-45-${String(1000 + from + row)}`,
    account: text,
    // Of other lengths than the accounts: one drawn token in a hundred lists would else be one of another column too.
    card: `${text}07`,
    spare: `${text}7`,
    code: text,
  }
  return Object.fromEntries([['key', `key ${row}`], ...Object.entries(all).filter((_, place) => (row + place) % 9 !== 0)])
}

const recordsFrom = (from: number, count = COUNT): LooseRecord[] =>
  Array.from({ length: count }, (_, row) => ({ fields: fieldsOf(row, from) }))

/** Expects the tokens of these records to be those of their stored state, which is read a few records at a time. Transient ones are in no record. */
async function expectRead(owner: LooseSession, stored: readonly LooseStored[], hidden: readonly string[] = []): Promise<void> {
  for (let start = 0; start < stored.length; start += 40) {
    const some = stored.slice(start, start + 40)
    const { records } = await owner.get('people', { ids: some.map(({ id }) => id), tokenization: true })
    for (const [index, { id, tokens }] of some.entries()) {
      const own = Object.entries(tokens).filter(([name]) => name !== 'code')
      const seen = Object.entries(records[index]?.tokens ?? {}).filter(([name]) => !hidden.includes(name) && name !== 'code')
      expect([id, Object.fromEntries(own)]).toEqual([records[index]?.id, Object.fromEntries(seen)])
    }
  }
  const codes = stored.flatMap(({ tokens }) => tokens.code ?? [])
  expect(new Set(codes).size).toBe(codes.length)
}

onEachStorage('tokens of long lists', (engine) => {
  async function open() {
    const { vault, session } = await openLoose(engine.fresh().open(), TABLES, { policy: POLICY })
    const typed = vault.as(OWNER)
    return { vault, session, typed, writer: asLoose(vault.as(callerOf('writer'))) }
  }

  it('of an insert are those of its records, with supplied ones, and resolve to their values', async () => {
    const { session, vault } = await open()
    const given = recordsFrom(0).map((record, row) =>
      row % 50 === 1 && record.fields.email !== undefined ? { ...record, tokens: { email: `own ${row}` } } : record,
    )
    const { records } = await session.insert('people', given, { tokenization: true, byot: 'ENABLE' })
    await expectRead(session, records)
    const drawn = records.flatMap(({ tokens }) => [tokens.ssn ?? [], tokens.account ?? []].flat())
    expect(new Set(drawn).size).toBe(drawn.length)
    for (const name of ['name', 'email', 'ssn', 'account', 'card', 'spare', 'code']) {
      const rows = records.flatMap(({ tokens }, row) => (tokens[name] === undefined ? [] : [{ row, token: tokens[name] }]))
      expect(rows).toHaveLength(given.filter(({ fields }) => fields[name] !== undefined).length)
      const asked = rows.filter((_, index) => index % 9 === 0 || index >= rows.length - 3)
      const found = await session.detokenize(asked.map(({ token }) => ({ token, redaction: 'PLAIN_TEXT' })))
      expect(found.records.map(({ value }) => value)).toEqual(asked.map(({ row }) => given[row]?.fields[name]))
    }
    expect(await vault.verifyRecords()).toMatchObject({ ok: true })
  })

  it('of an insert that leaves records out are at the positions of the others', async () => {
    const { session } = await open()
    const first = recordsFrom(0, 300)
    await session.insert('people', first)
    const { records } = await session.insert('people', recordsFrom(0), { tokenization: true, onConflict: 'ignore' })
    expect(records.findIndex(({ id }) => id !== undefined)).toBe(300)
    await expectRead(session, records.slice(300))
  })

  it('of an upsert are those of changed and of new records', async () => {
    const { session, writer } = await open()
    await session.insert('people', recordsFrom(0, 400))
    const { records } = await session.insert('people', recordsFrom(5000), { tokenization: true, upsert: 'key' })
    await expectRead(session, records)
    const again = await writer.insert('people', recordsFrom(7000), { tokenization: true, upsert: 'key' })
    // The token of a stable column is kept, and belongs to a value that this caller cannot see.
    expect(again.records.filter(({ tokens }) => tokens.account !== undefined)).toEqual([])
    await expectRead(session, again.records, ['account'])
  })

  it('of updates are those of the changed columns, without kept ones of hidden values', async () => {
    const { session, typed, vault } = await open()
    const { records: stored } = await session.insert('people', recordsFrom(0))
    for (const [caller, hidden] of [
      [typed, []],
      [vault.as(callerOf('writer')), ['account']],
    ] as const) {
      const changes = stored.map(({ id }, row) => ({ id, fields: fieldsOf(row, 2000) }))
      const { records } = await caller.update('people', changes as never, { tokenization: true })
      await expectRead(session, records as never, hidden)
    }
  })

  it('of a batch are those of its items', async () => {
    const { session, typed } = await open()
    const items = recordsFrom(0).map(({ fields }) => ({ insert: 'people', fields, tokenization: true }))
    const { responses } = await typed.batch(items as never)
    const stored = responses.map((response) => response.value as never as LooseStored)
    expect(stored).toHaveLength(COUNT)
    await expectRead(session, stored)
  })

  it('are those of stored records, or nothing is stored, when the insert is aborted', async () => {
    const { session } = await open()
    for (const turns of [0, 1, 2, 4, 8, 16]) {
      const controller = new AbortController()
      const keyed = recordsFrom(0).map(({ fields }) => ({ fields: { ...fields, key: `${turns} ${fields.key}` } }))
      const before = await count(session)
      const insert = session.insert('people', keyed, { tokenization: true, signal: controller.signal })
      abortAfter(controller, turns)
      const stored = await insert.then(({ records }) => records).catch((error: unknown) => error)
      if (!Array.isArray(stored)) expect(stored).toMatchObject({ code: 'cancelled' })
      else await expectRead(session, stored)
      expect((await count(session)) - before).toBe(Array.isArray(stored) ? COUNT : 0)
    }
  })
})

function abortAfter(controller: AbortController, turns: number): void {
  if (turns === 0) controller.abort()
  else setImmediate(() => abortAfter(controller, turns - 1))
}

async function count(session: LooseSession): Promise<number> {
  const { records } = await session.query('SELECT COUNT(*) AS count FROM people')
  return Number(records[0]?.fields.count)
}
