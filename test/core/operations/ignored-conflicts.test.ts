/** Inserts with `onConflict: 'ignore'`: records whose unique values are in use are left out, also when several callers insert them at once. */
import { expect, expectTypeOf, it } from 'vitest'
import type { IgnoredRecord } from '../../../src/index.ts'
import { callerOf, eventsBy, openClients } from '../../support/audit/audited-clients.ts'
import { ENGINES, onEachStorage } from '../../support/storages/engines.ts'
import { OWNER, openPeople } from '../../support/vaults/test-vault.ts'

const IGNORE = { onConflict: 'ignore' } as const

onEachStorage('an insert that ignores conflicts', (engine) => {
  async function session() {
    const vault = await openPeople(engine.fresh().open())
    return { vault, people: vault.as(OWNER) }
  }

  it('leaves out a record whose unique value exists, and keeps the positions of the others', async () => {
    const { people } = await session()
    await people.insert('people', [{ fields: { name: 'Ann', email: 'ann@acme.example' } }])
    const { records } = await people.insert(
      'people',
      [
        { fields: { name: 'Bo', email: 'bo@acme.example' } },
        { fields: { name: 'Ann again', email: ' ANN@acme.example' } },
        { fields: { name: 'Cy' } },
      ],
      { ...IGNORE, tokenization: true },
    )
    expect(records).toEqual([
      { id: expect.any(String), tokens: { name: expect.any(String), email: expect.any(String) } },
      { ignored: true },
      { id: expect.any(String), tokens: { name: expect.any(String) } },
    ])
    const names = (await people.get('people', { redaction: 'PLAIN_TEXT', fields: ['name'] })).records
    expect(names.map(({ fields }) => fields.name)).toEqual(['Ann', 'Bo', 'Cy'])
    const [first] = await people.detokenize([{ token: records[0]?.tokens?.name ?? '' }]).then(({ records: found }) => found)
    expect(first?.value).toBe('B*')
  })

  it('ignores a record for a conflict in any unique column, and the first of equal ones wins', async () => {
    const { people } = await session()
    await people.insert('people', [{ fields: { name: 'Ann', badge: 'B-1' } }])
    const { records } = await people.insert(
      'people',
      [
        { fields: { name: 'one', email: 'x@acme.example', badge: 'B-1' } },
        { fields: { name: 'two', email: 'x@acme.example', badge: 'B-2' } },
        { fields: { name: 'three', email: 'y@acme.example', badge: 'B-2' } },
        { fields: { name: 'four', email: 'X@acme.example ' } },
      ],
      IGNORE,
    )
    // The first is left out, so its email is free for the second.
    expect(records.map(({ ignored }) => ignored === true)).toEqual([true, false, true, true])
  })

  it('stores nothing and succeeds if all are ignored, with one event', async () => {
    const vault = await openClients(engine.fresh().open())
    const owner = vault.as(OWNER)
    const records = [{ fields: { name: 'Ann', email: 'ann@acme.example' } }]
    await owner.insert('clients', records)
    const { answer, events } = await eventsBy(vault, () => owner.insert('clients', records, IGNORE))
    expect(answer).toEqual({ records: [{ ignored: true }] })
    expect(events).toMatchObject([{ action: 'INSERT', code: 200, table: 'clients' }])
    expect(JSON.parse(events[0]?.content ?? '')).toMatchObject({ onConflict: 'ignore' })
    expect(events[0]?.rows).toBeUndefined()
  })

  it('reveals no more than a conflict, and nothing of the other record', async () => {
    const policy = { pipeline: ['ALLOW CREATE ON clients.name, clients.email', 'ALLOW CREATE ON clients.country'] }
    const vault = await openClients(engine.fresh().open(), { policy })
    await vault.as(OWNER).insert('clients', [{ fields: { name: 'Ann', email: 'ann@acme.example' } }])
    const pipeline = vault.as(callerOf('pipeline'))
    const taken = [{ fields: { name: 'Eve', email: 'ann@acme.example' } }] as const
    await expect(pipeline.insert('clients', taken)).rejects.toMatchObject({ code: 'conflict' })
    expect(await pipeline.insert('clients', taken, IGNORE)).toEqual({ records: [{ ignored: true }] })
    // What is refused in any case is refused first, whether or not the value exists.
    for (const email of ['ann@acme.example', 'new@acme.example']) {
      await expect(pipeline.insert('clients', [{ fields: { name: 'Eve', email, salary: 5 } }], IGNORE)).rejects.toMatchObject({
        code: 'invalid_request',
      })
      await expect(pipeline.insert('clients', [{ fields: { email } as never }], IGNORE)).rejects.toMatchObject({
        code: 'unprocessable',
      })
    }
  })

  it('throws a conflict of a supplied token, which is not ignored', async () => {
    const { people } = await session()
    const options = { ...IGNORE, byot: 'ENABLE' } as const
    const record = (badge: string) => ({ fields: { name: 'Ann', badge }, tokens: { badge: 'TEST-TOKEN-1' } })
    await people.insert('people', [record('B-1')], options)
    await expect(people.insert('people', [record('B-2')], options)).rejects.toMatchObject({ code: 'conflict' })
    expect(await people.insert('people', [record('B-1')], options)).toEqual({ records: [{ ignored: true }] })
  })

  it('works in transactions and batches, where a later item sees the earlier ones', async () => {
    const { vault, people } = await session()
    const results = await vault.transaction(async (inside) => {
      const session = inside.as(OWNER)
      const first = await session.insert('people', [{ fields: { name: 'Ann', badge: 'B-1' } }], IGNORE)
      const second = await session.insert('people', [{ fields: { name: 'Bo', badge: 'B-1' } }], IGNORE)
      return [first, second].map(({ records }) => records[0]?.ignored === true)
    })
    expect(results).toEqual([false, true])
    const { responses } = await people.batch(
      [
        { insert: 'people', fields: { name: 'Cy', badge: 'B-1' }, onConflict: 'ignore' },
        { insert: 'people', fields: { name: 'Di', badge: 'B-2' }, onConflict: 'ignore' },
        { get: 'people', id: { response: 0 } },
      ],
      { continueOnError: true },
    )
    expect(responses).toMatchObject([
      { ok: true, value: { ignored: true } },
      { ok: true, value: { id: expect.any(String) } },
      { ok: false, error: { code: 'not_found', message: expect.stringContaining('which was ignored') } },
    ])
    expect((await people.get('people')).records).toHaveLength(2)
  })

  it('refuses upsert beside it, and any other word', async () => {
    const { people } = await session()
    const records = [{ fields: { name: 'Ann', email: 'ann@acme.example' } }]
    await expect(people.insert('people', records, { ...IGNORE, upsert: 'email' })).rejects.toMatchObject({
      message: 'Insert failed. onConflict cannot be combined with upsert.',
    })
    await expect(people.insert('people', records, { onConflict: 'update' as never })).rejects.toMatchObject({
      message: 'Insert failed. onConflict must be ignore, or absent.',
    })
  })

  it('says plainly that there is nothing to insert', async () => {
    const { people } = await session()
    await expect(people.insert('people', [])).rejects.toMatchObject({
      code: 'invalid_request',
      message: 'Insert failed. There are no records to insert. Pass at least one.',
    })
  })
})

onEachStorage('two vaults on one storage', (engine) => {
  it('insert the same records at the same time, and none of the calls fails', async () => {
    const place = engine.fresh()
    // The memory of a process has one vault only.
    const vaults = [await openPeople(place.open()), ...(engine.name === 'memory' ? [] : [await openPeople(place.open())])]
    const orders = [0, 1, 2, 3, 4, 5, 6, 7].map((shift) => Array.from({ length: 8 }, (_, i) => `B-${(i + shift) % 8}`))
    const results = await Promise.all(
      vaults.flatMap((vault) =>
        orders.map((badges) =>
          vault.as(OWNER).insert(
            'people',
            badges.map((badge) => ({ fields: { name: 'Ann', badge } })),
            IGNORE,
          ),
        ),
      ),
    )
    const stored = results.flatMap(({ records }) => records.filter(({ ignored }) => ignored !== true))
    expect(stored).toHaveLength(8)
    expect((await vaults[0]?.as(OWNER).get('people', { limit: 100 }))?.records).toHaveLength(8)
  })
})

it('the result is typed by the option', async () => {
  const vault = await openPeople(ENGINES.memory().fresh().open())
  const people = vault.as(OWNER)
  const plain = await people.insert('people', [{ fields: { name: 'Ann' } }])
  expectTypeOf(plain.records[0]?.id).toEqualTypeOf<string | undefined>()
  const { records } = await people.insert('people', [{ fields: { name: 'Bo' } }], IGNORE)
  const [record] = records
  if (record === undefined || record.ignored === true) throw new Error('The record was ignored.')
  expectTypeOf(record.id).toEqualTypeOf<string>()
  expectTypeOf<IgnoredRecord['id']>().toEqualTypeOf<undefined>()
})
