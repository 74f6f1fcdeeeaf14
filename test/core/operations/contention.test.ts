/** Contention: many changes of one record at once, on every storage. None is lost, and none pays for the others. */
import { AsyncResource } from 'node:async_hooks'
import { expect, it } from 'vitest'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { column, type SchemaDefinition } from '../../../src/index.ts'
import { eventsOf } from '../../support/audit/audited-clients.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { asLoose, insertOne, openLoose } from '../../support/vaults/open-untyped.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const NUMBERS = Array.from({ length: 64 }, (_, number) => number)

const TABLES: SchemaDefinition = {
  wide: {
    key: column.string({ unique: true, token: 'deterministic', redaction: 'PLAIN_TEXT' }),
    code: column.string({ unique: true, redaction: 'PLAIN_TEXT' }),
    ...Object.fromEntries(
      NUMBERS.map((number) => [
        `c${number}`,
        number % 8 === 0
          ? column.string({ token: 'random', redaction: 'PLAIN_TEXT' })
          : column.string({ redaction: 'PLAIN_TEXT' }),
      ]),
    ),
  },
}

/** A storage that counts its transactions. */
function countingStorage(sound: StorageHandle) {
  const begun = { count: 0 }
  const transaction: StorageHandle['transaction'] = (work) => {
    begun.count++
    return sound.transaction(work)
  }
  return { begun, storage: { ...sound, transaction } satisfies StorageHandle }
}

/** The values of the 64 columns. */
const VALUES = Object.fromEntries(NUMBERS.map((number) => [`c${number}`, `value ${number}`]))

onEachStorage('many changes of one record at once', (engine) => {
  for (const audit of ['on', 'off'] as const) {
    it(`are all kept, in few transactions, with the audit ${audit}`, async () => {
      const { begun, storage } = countingStorage(engine.fresh().open())
      const { session } = await openLoose(storage, TABLES, { audit })
      const { id } = await insertOne(session, 'wide', { key: 'k' })
      begun.count = 0
      const answers = await Promise.all(
        NUMBERS.map((number) => session.updateOne('wide', id, { [`c${number}`]: `value ${number}` }, { tokenization: true })),
      )
      expect(begun.count).toBeLessThan(8)
      expect((await session.getOne('wide', id)).fields).toMatchObject(VALUES)
      const tokens = await session.getOne('wide', id, { tokenization: true })
      for (const number of NUMBERS)
        if (number % 8 === 0) expect(answers[number]?.tokens?.[`c${number}`]).toBe(tokens.fields[`c${number}`])
    })
  }

  it('have one event each, with the row and the caller of its own', async () => {
    const { vault, session } = await openLoose(engine.fresh().open(), TABLES)
    const { id } = await insertOne(session, 'wide', { key: 'k' })
    await Promise.all(
      NUMBERS.map((number) => {
        const caller = { ...OWNER, actor: `caller-${number}@acme.example` }
        return asLoose(vault.as(caller)).updateOne('wide', id, { [`c${number}`]: 'x' })
      }),
    )
    const updates = (await eventsOf(vault)).filter(({ action }) => action === 'UPDATE')
    expect(new Set(updates.map(({ context: { actor } }) => actor)).size).toBe(NUMBERS.length)
    expect(updates.length).toBe(NUMBERS.length)
    for (const { context, content, rows } of updates) {
      const [, number] = /caller-(\d+)/.exec(context.actor) ?? []
      expect(JSON.parse(content ?? '')).toMatchObject({ fields: { [`c${number}`]: '*REDACTED*' } })
      expect(rows).toEqual(updates[0]?.rows)
    }
    expect(await vault.verifyAudit()).toMatchObject({ ok: true })
  })

  it('fail alone: a refused change blocks no other, and nothing of it is stored', async () => {
    const { vault, session } = await openLoose(engine.fresh().open(), TABLES)
    const { id } = await insertOne(session, 'wide', { key: 'k' })
    await insertOne(session, 'wide', { key: 'other', code: 'taken' })
    const isRefused = (number: number) => number % 3 === 0
    const ends = await Promise.allSettled(
      NUMBERS.map((number) => {
        const fields = { [`c${number}`]: `value ${number}`, ...(isRefused(number) ? { code: 'taken' } : {}) }
        return session.updateOne('wide', id, fields)
      }),
    )
    for (const [number, end] of ends.entries()) {
      if (isRefused(number)) expect(end).toMatchObject({ reason: { code: 'conflict', details: [{ column: 'code' }] } })
      else expect(end.status).toBe('fulfilled')
    }
    const { fields } = await session.getOne('wide', id)
    expect(fields).toMatchObject({
      code: null,
      ...Object.fromEntries(NUMBERS.map((n) => [`c${n}`, isRefused(n) ? null : `value ${n}`])),
    })
    const codes = (await eventsOf(vault)).filter(({ action }) => action === 'UPDATE').map(({ code }) => code)
    expect(codes.filter((code) => code === 422).length).toBe(NUMBERS.filter(isRefused).length)
    expect(codes.length).toBe(NUMBERS.length)
  })

  it('by updates, upserts of its key, and a batch are all kept', async () => {
    const { vault, session } = await openLoose(engine.fresh().open(), TABLES)
    const { id } = await insertOne(session, 'wide', { key: 'k' })
    const batches = vault.as(OWNER) as unknown as { batch(items: unknown): Promise<unknown> } // The tables have names of the test.
    const fieldsOf = (number: number) => ({ [`c${number}`]: `value ${number}` })
    const ways = [
      (number: number) => session.updateOne('wide', id, fieldsOf(number)),
      (number: number) => session.insert('wide', [{ fields: { key: 'k', ...fieldsOf(number) } }], { upsert: 'key' }),
      (number: number) => batches.batch([{ update: 'wide', id, fields: fieldsOf(number) }]),
    ]
    await Promise.all(NUMBERS.map((number) => ways[number % 8 === 0 ? 2 : number % 2]?.(number)))
    expect((await session.getOne('wide', id)).fields).toMatchObject(VALUES)
    expect((await session.get('wide')).records.length).toBe(1)
  })

  it('wait for a transaction of the vault that changed it, and then are kept', async () => {
    const { vault, session } = await openLoose(engine.fresh().open(), TABLES)
    const { id } = await insertOne(session, 'wide', { key: 'k' })
    const updates: Promise<unknown>[] = []
    const outside = new AsyncResource('outside')
    await vault.transaction(async (within) => {
      const inside = asLoose(within.as(OWNER))
      await inside.updateOne('wide', id, { c0: 'inside' })
      for (const number of NUMBERS.slice(2, 12)) {
        updates.push(outside.runInAsyncScope(() => session.updateOne('wide', id, { [`c${number}`]: 'outside' })))
      }
      await inside.updateOne('wide', id, { c1: 'inside' })
    })
    await Promise.all(updates)
    const { fields } = await session.getOne('wide', id)
    expect(fields).toMatchObject({ c0: 'inside', c1: 'inside', c2: 'outside', c11: 'outside' })
  })
})
