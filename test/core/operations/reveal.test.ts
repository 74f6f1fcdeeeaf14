/** A reveal shows one value in plain text for a purpose, and its event says which, to whom and why, also if it was refused. */
import { describe, expect, it } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { type Caller, column, mask } from '../../../src/index.ts'
import { eventsOf } from '../../support/audit/audited-clients.ts'
import { openLoose } from '../../support/vaults/open-untyped.ts'

const people = {
  name: column.string({ redaction: 'MASKED', mask: mask.keepFirst(1), token: 'random' }),
  big: column.integer(),
  country: column.string({ encrypted: false, redaction: 'PLAIN_TEXT' }),
  pin: column.string({ token: 'transient' }),
}
const POLICY = {
  desk: ['ALLOW READ, DETOKENIZATION ON people.* WITH REDACTION = PLAIN_TEXT'],
  reader: ['ALLOW READ ON people.* WITH REDACTION = PLAIN_TEXT'],
  masked: ['ALLOW READ, DETOKENIZATION ON people.* WITH REDACTION = MASKED'],
  swede: ["ALLOW READ ON people.big WITH REDACTION = PLAIN_TEXT WHERE country = 'SE'", 'ALLOW READ ON people.country'],
}
const PURPOSE = 'Payment failed, order 88'

async function open() {
  const { vault, session } = await openLoose(memoryStorage(), { people }, { policy: POLICY })
  const records = [
    { fields: { name: 'Ann', big: 9007199254740993n, country: 'SE' } },
    { fields: { name: 'Bo', big: 2, country: 'DE' } },
  ]
  const [ann, bo] = (await session.insert('people', records)).records.map(({ id }) => id)
  const reveal = (
    role: string,
    name: string,
    given: { readonly id?: string; readonly purpose?: string } = { purpose: PURPOSE },
  ) => {
    const { id = ann ?? '', ...purpose } = given
    const caller: Caller = { actor: role, actorType: 'USER', roles: [role], ...purpose }
    return vault.as(caller).perform('reveal', { table: 'people', id, column: name })
  }
  const eventsBy = async (role: string) => (await eventsOf(vault)).filter(({ context }) => context.actor === role)
  return { eventsBy, bo: { id: bo ?? '', purpose: PURPOSE }, reveal }
}

describe('a reveal', () => {
  it('returns the value, and records record, column and purpose as one DETOKENIZE', async () => {
    const { eventsBy, reveal } = await open()
    expect(await reveal('desk', 'name')).toEqual({ value: 'Ann', type: 'STRING' })
    expect(await reveal('desk', 'big')).toEqual({ value: '9007199254740993', type: 'INTEGER' })
    const [event, ...others] = await eventsBy('desk')
    expect(others).toHaveLength(1)
    expect(event).toMatchObject({
      action: 'DETOKENIZE',
      resourceType: 'RECORD',
      code: 200,
      rows: [{ table: 'people', runs: [[1, 1]] }],
      content: '{"table":"people","id":"*REDACTED*","column":"name"}',
      context: { purpose: PURPOSE },
    })
  })

  it('is refused without a purpose of 4 to 128 characters, and no value is in its event', async () => {
    const { eventsBy, reveal } = await open()
    for (const given of [{}, { purpose: 'abc' }, { purpose: 'a     ' }, { purpose: '😀😀' }, { purpose: 'abc\u200b\u200b' }])
      await expect(reveal('desk', 'name', given)).rejects.toMatchObject({ code: 'unprocessable' })
    expect(await reveal('desk', 'name', { purpose: 'abcd' })).toMatchObject({ value: 'Ann' })
    expect(JSON.stringify(await eventsBy('desk'))).not.toContain('Ann')
  })

  it('needs READ in plain text in this record, and DETOKENIZATION of a column with tokens', async () => {
    const { eventsBy, reveal, bo } = await open()
    await expect(reveal('masked', 'name')).rejects.toMatchObject({ code: 'forbidden' })
    await expect(reveal('reader', 'name')).rejects.toMatchObject({ code: 'forbidden' })
    expect(await reveal('reader', 'big')).toMatchObject({ type: 'INTEGER' })
    expect(await reveal('swede', 'big')).toMatchObject({ type: 'INTEGER' })
    await expect(reveal('swede', 'big', bo)).rejects.toMatchObject({ code: 'forbidden' })
    // A refusal names the record that was asked for.
    expect((await eventsBy('masked'))[0]).toMatchObject({ rows: [{ runs: [[1, 1]] }] })
  })

  it('answers alike for a hidden column, a transient one and one of no table', async () => {
    const { bo, reveal } = await open()
    const texts = await Promise.all(
      [reveal('swede', 'name'), reveal('desk', 'pin'), reveal('desk', 'nothing')].map((call) =>
        call.catch((error: Error) => error.message.replace(/Column \S+/, '')),
      ),
    )
    expect(new Set(texts).size).toBe(1)
    await expect(reveal('desk', 'name', { ...bo, id: '5a4bc4ef-11f5-4c08-9887-d943d109abf6' })).rejects.toMatchObject({
      code: 'not_found',
    })
  })
})
