/** A digest that does not agree with its value: an operation that sees it never returns a wrong record, and leaves an event of its own and a log line. */
import { expect, it } from 'vitest'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import type { Log } from '../../../src/index.ts'
import { eventsBy } from '../../support/audit/audited-clients.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { digestOf, flipped, openTampered, overwrite, personOf, RECORDS, rowOf } from '../../support/vaults/tampered-records.ts'

interface Line {
  readonly level: string
  readonly message: string
  readonly fields: object
}

function logTo(lines: Line[]): Log {
  const write = (level: string) => (fields: object, message: string) => {
    lines.push({ level, message, fields })
  }
  return { info: write('info'), warn: write('warn'), error: write('error') }
}

/** Sets the digest of a column in one row to that of another row, or to null. */
async function setDigest(storage: StorageHandle, name: string, to: number, from: number | undefined): Promise<void> {
  const row = await rowOf(storage, RECORDS, to)
  const column = digestOf(row, name)
  const cell = from === undefined ? null : ((await rowOf(storage, RECORDS, from))[column] ?? null)
  if (from !== undefined) await overwrite(storage, RECORDS, from, { [column]: null })
  await overwrite(storage, RECORDS, to, { [column]: cell })
}

const findingOf = (column: string, action: string, rows: readonly (readonly [number, number])[]) => ({
  action,
  resourceType: 'RECORD',
  table: 'people',
  rows: [{ table: 'people', runs: rows }],
  code: 500,
  message: `Integrity check failed. The digest of column "${column}" of table "people" does not agree with its value. Run vault.verifyRecords().`,
})

onEachStorage('a digest that does not agree with its value', (engine) => {
  async function open(count: number) {
    const lines: Line[] = []
    const storage = engine.fresh().open()
    const opened = await openTampered(storage, count, { log: logTo(lines) })
    const run = async (work: () => Promise<unknown>) => {
      const outcome = await eventsBy(opened.vault, work)
      const findings = outcome.events.filter(({ message }) => message.startsWith('Integrity'))
      expect(outcome.events.length - findings.length).toBe(1)
      for (const { context } of findings) expect(context.requestID).toBe(outcome.events[0]?.context.requestID)
      return { ...outcome, findings }
    }
    return { ...opened, lines, run }
  }

  it('is reported when a record without its digest is read, and the record is returned', async () => {
    const { session, storage, records, lines, run } = await open(3)
    await setDigest(storage, 'email', 1, undefined)
    await setDigest(storage, 'code', 1, undefined)
    const { answer, findings } = await run(() => session.get('people', { redaction: 'PLAIN_TEXT' }))
    expect(answer).toMatchObject({ records: [{ fields: { email: 'Canary0@acme.example' } }, {}, {}] })
    expect(findings).toMatchObject([findingOf('email', 'GET', [[1, 1]]), findingOf('code', 'GET', [[1, 1]])])
    expect(lines.map(({ level, message }) => `${level}: ${message}`)).toEqual(
      Array(2).fill('error: a stored digest does not agree with its value'),
    )
    expect(lines[0]?.fields).toMatchObject({ operation: 'GET', code: 'data_loss', table: 'people', column: 'email', records: 1 })
    expect(JSON.stringify(lines)).not.toMatch(/canary/i)
    const other = await run(() => session.getOne('people', records[1]?.id ?? ''))
    expect(other.findings).toEqual([])
  })

  it('finds no wrong record by value, token or key, and each look-up reports it', async () => {
    const { session, storage, records, run } = await open(4)
    await setDigest(storage, 'email', 2, 1)
    const byValue = await run(() => session.get('people', { where: { email: 'canary0@acme.example' } }))
    expect(byValue.answer).toEqual({ records: [] })
    expect(byValue.findings).toMatchObject([findingOf('email', 'GET', [[2, 1]])])

    const upsert = await run(() =>
      session.insert('people', [{ fields: { email: 'canary0@acme.example', note: 1 } }], { upsert: 'email' }),
    )
    expect(upsert.error).toMatchObject({ code: 'data_loss', details: [{ table: 'people', column: 'email', id: records[1]?.id }] })
    expect(upsert.findings).toMatchObject([findingOf('email', 'INSERT', [[2, 1]])])

    const { tokens } = await session.getOne('people', records[2]?.id ?? '', { tokenization: true })
    await setDigest(storage, 'city', 4, 3)
    const token = await run(() => session.detokenize([{ token: tokens.city ?? '' }]))
    expect(token.error).toMatchObject({ code: 'not_found' })
    expect(token.findings).toMatchObject([findingOf('city', 'DETOKENIZE', [[4, 1]])])
    const value = await run(() => session.tokenize([{ value: 'canary city 2', table: 'people', column: 'city' }]))
    expect(value.error).toMatchObject({ code: 'not_found' })
    expect(value.findings).toMatchObject([findingOf('city', 'TOKENIZE', [[4, 1]])])
  })

  it('is reported, and no other error is thrown, if the record with the digest has no value', async () => {
    const { session, storage, records, run } = await open(3)
    await session.updateOne('people', records[1]?.id ?? '', { email: null, city: null })
    await setDigest(storage, 'email', 2, 1)
    await setDigest(storage, 'city', 2, 1)
    const upsert = await run(() => session.insert('people', [{ fields: { email: 'canary0@acme.example' } }], { upsert: 'email' }))
    expect(upsert.error).toMatchObject({ code: 'data_loss', details: [{ table: 'people', column: 'email', id: records[1]?.id }] })
    expect(upsert.findings).toMatchObject([findingOf('email', 'INSERT', [[2, 1]]), findingOf('city', 'INSERT', [[2, 1]])])
    const value = await run(() => session.tokenize([{ value: 'canary city 0', table: 'people', column: 'city' }]))
    expect(value.error).toMatchObject({ code: 'not_found' })
    expect(value.findings).toMatchObject([findingOf('city', 'TOKENIZE', [[2, 1]])])
  })

  it('is recorded once for an update, and kept when the transaction around a read rolls back', async () => {
    const { vault, session, storage, records, run } = await open(2)
    await setDigest(storage, 'email', 1, undefined)
    const update = await run(() => session.updateOne('people', records[0]?.id ?? '', { note: 2 }))
    expect(update.error).toBeUndefined()
    expect(update.findings).toMatchObject([findingOf('email', 'UPDATE', [[1, 1]])])
    const rolledBack = await run(() =>
      vault.transaction(async (inside) => {
        await inside.as({ actor: 'a', actorType: 'USER', roles: ['VAULT_OWNER'] }).get('people')
        throw new Error('changed my mind')
      }),
    )
    expect(rolledBack.error).toMatchObject({ message: 'changed my mind' })
    expect(rolledBack.findings).toMatchObject([findingOf('email', 'GET', [[1, 1]])])
  })

  it('is no finding in any operation on sound records', async () => {
    const { session, records, lines, run } = await open(3)
    const id = records[0]?.id ?? ''
    const { tokens } = await session.getOne('people', id, { tokenization: true })
    const work: (() => Promise<unknown>)[] = [
      () => session.get('people', { redaction: 'PLAIN_TEXT' }),
      () => session.get('people', { where: { email: ['CANARY1@acme.example', 'no-one@acme.example'] } }),
      () => session.detokenize(Object.values(tokens).map((token) => ({ token }))),
      () => session.getByTokens([tokens.city ?? '', tokens.card ?? '']),
      () => session.tokenize([{ value: 'canary city 1', table: 'people', column: 'city' }]),
      () => session.insert('people', [{ fields: { ...personOf(1), badge: 'b' } }], { upsert: 'email' }),
      () => session.updateOne('people', id, { email: null, city: null, code: null }),
      () => session.get('people', { redaction: 'PLAIN_TEXT' }),
      () => session.delete('people', [id]),
    ]
    for (const one of work) {
      const { error, findings } = await run(one)
      expect(error).toBeUndefined()
      expect(findings).toEqual([])
    }
    expect(lines).toEqual([])
  })
})

onEachStorage('a record that does not open', (engine) => {
  it('is named with its table and id by every operation that opens it', async () => {
    const storage = engine.fresh().open()
    const { vault, session, records } = await openTampered(storage, 2)
    const [bad, good] = records
    const id = bad?.id ?? ''
    await overwrite(storage, RECORDS, 1, { body: flipped((await rowOf(storage, RECORDS, 1)).body, 400) })
    const named = {
      code: 'data_loss',
      details: [{ table: 'people', id }],
      message: expect.stringContaining(`Record ${id} of table "people"`),
    }
    await expect(session.getOne('people', id)).rejects.toMatchObject(named)
    await expect(session.get('people')).rejects.toMatchObject(named)
    await expect(session.get('people', { tokenization: true })).rejects.toMatchObject(named)
    await expect(session.get('people', { where: { email: 'canary0@acme.example' } })).rejects.toMatchObject(named)
    const caller = { actor: 'a', actorType: 'USER', roles: ['VAULT_OWNER'] } as const
    await expect(vault.as(caller).query('SELECT name FROM people')).rejects.toMatchObject(named)
    await expect(session.updateOne('people', id, { name: 'x' })).rejects.toMatchObject(named)
    await expect(
      session.insert('people', [{ fields: { email: 'canary0@acme.example', name: 'x' } }], { upsert: 'email' }),
    ).rejects.toMatchObject(named)
    await expect(session.detokenize([{ token: bad?.tokens.name ?? '' }])).rejects.toMatchObject(named)
    const both = [bad?.tokens.name ?? '', good?.tokens.name ?? '']
    const { records: values } = await session.detokenize(
      both.map((token) => ({ token })),
      { continueOnError: true },
    )
    expect(values[0]?.error).toContain(`Record ${id} of table "people"`)
    expect(values[1]?.error).toBeUndefined()
    expect((await session.getByTokens(both)).records[0]?.error).toContain(`Record ${id} of table "people"`)
    // A deletion by an unconditional grant opens nothing, so that an unreadable record can be removed.
    await expect(session.delete('people', [id])).resolves.toEqual({ ids: [id] })
    await expect(session.get('people')).resolves.toMatchObject({ records: [{ id: good?.id }] })
  })

  it('is named by a deletion whose condition reads it', async () => {
    const storage = engine.fresh().open()
    const policy = { clerk: ['ALLOW READ, DELETE ON people.* WHERE code > 1'] }
    const { vault, records } = await openTampered(storage, 1, { policy })
    const id = records[0]?.id ?? ''
    await overwrite(storage, RECORDS, 1, { body: null })
    const clerk = vault.as({ actor: 'c', actorType: 'USER', roles: ['clerk'] })
    await expect(clerk.delete('people', [id])).rejects.toMatchObject({ code: 'data_loss', details: [{ table: 'people', id }] })
  })
})
