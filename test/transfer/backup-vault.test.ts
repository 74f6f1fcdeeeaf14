/** A backup of a vault that works, restored into any storage, is the vault of one moment; and nothing else of it ever opens. */
import { createHash, generateKeyPairSync } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory/memory-storage.ts'
import type { StorageHandle } from '../../src/core/ports/storage.ts'
import { INDEX_RUNS, MAINTENANCE } from '../../src/core/schema/system-tables.ts'
import { column } from '../../src/index.ts'
import { backupVault, moveVault, restoreVault } from '../../src/transfer/index.ts'
import { ENGINES, type Engine } from '../support/storages/engines.ts'
import type { EngineName } from '../support/storages/places.ts'
import { fieldsOf, fillBusy, openBusy, rowsOf } from '../support/transfer/busy-vault.ts'
import { openLoose } from '../support/vaults/open-untyped.ts'
import { OWNER } from '../support/vaults/test-vault.ts'

/** A backup that was read whole, and its manifest. */
async function taken(from: StorageHandle, options: { since?: Uint8Array; recipient?: string } = {}) {
  const backup = backupVault({ from, ...options })
  const parts: Uint8Array[] = []
  for await (const part of backup) parts.push(part)
  return { bytes: Buffer.concat(parts), manifest: await backup.manifest() }
}

/** Bytes as a stream of parts of a length that fits nothing. */
async function* stream(bytes: Uint8Array, size = 70_001): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

const refused = { code: 'failed_precondition', message: expect.stringContaining('has not ended') }

describe.each(Object.keys(ENGINES) as EngineName[])('of %s', (source) => {
  const from: Engine = ENGINES[source]()
  describe.each(Object.keys(ENGINES) as EngineName[])('restored in %s', (target) => {
    const to: Engine = ENGINES[target]()

    it('it is the same vault, also from increments', async () => {
      const here = from.fresh()
      const vault = await openBusy(here.open())
      const { known, gone } = await fillBusy(vault, 600)
      const session = vault.as(OWNER)
      const storage = here.open()
      const full = await taken(storage)
      await session.updateOne('people', known[5]?.id ?? '', { name: 'changed' })
      await session.delete('people', [known[6]?.id ?? '', known[599]?.id ?? ''])
      await session.insert('people', [{ fields: fieldsOf(9000) }], { tokenization: true })
      const second = await taken(storage, { since: full.manifest })
      await session.insert('notes', [{ fields: { text: 'later' } }])
      const third = await taken(storage, { since: second.manifest })
      const whole = await taken(storage)
      expect(second.bytes.length).toBeLessThan(full.bytes.length / 4)
      expect(third.manifest).toEqual(whole.manifest)

      const [one, other] = [to.fresh(), to.fresh()]
      const restored = await restoreVault({ to: one.open(), backups: [full, second, third].map(({ bytes }) => stream(bytes)) })
      await restoreVault({ to: other.open(), backups: [stream(whole.bytes)] })
      const before = await rowsOf(storage)
      for (const place of [one, other]) {
        const copied = await rowsOf(place.open())
        for (const [table, rows] of before) expect(copied.get(table), table).toEqual(rows)
      }
      expect(restored.rows.records_1_people).toBe(before.get('records_1_people')?.length)

      const copy = await openBusy(one.open())
      expect(await copy.verifyRecords()).toMatchObject({ ok: true })
      expect(await copy.verifyAudit()).toMatchObject({ ok: true })
      const reader = copy.as(OWNER)
      expect((await reader.getOne('people', known[5]?.id ?? '')).fields.name).toBe('changed')
      const { records } = await reader.insert(
        'people',
        Array.from({ length: 50 }, () => ({ fields: { name: 'ANOTHER PERSON' } })),
      )
      const others = [gone, known[6], known[599]].map((each) => each?.id)
      for (const { id } of records) expect(others).not.toContain(id)
    })
  })

  it('it is of one moment while writers work', async () => {
    const [here, there] = [from.fresh(), ENGINES_OF_COPY.fresh()]
    const vault = await openBusy(here.open())
    await fillBusy(vault, 300)
    const session = vault.as(OWNER)
    let isOver = false
    const writing = (async () => {
      for (let n = 0; !isOver; n++, await new Promise((resolve) => setTimeout(resolve, 2)))
        await vault.transaction(async (inner) => {
          const pair = [1, 2].map((k) => ({ fields: { name: `pair ${n}`, email: `pair${n}.${k}@z.example` } }))
          await inner.as(OWNER).insert('people', pair, { tokenization: true })
        })
    })()
    const storage = here.open()
    let backup = await taken(storage)
    const backups = [backup]
    for (let n = 0; n < 5; n++) {
      backup = await taken(storage, { since: backup.manifest })
      backups.push(backup)
    }
    isOver = true
    await writing
    await session.insert('notes', [{ fields: { text: 'after' } }])
    await restoreVault({ to: there.open(), backups: backups.map(({ bytes }) => stream(bytes)) })
    const copy = await openBusy(there.open())
    expect(await copy.verifyRecords()).toMatchObject({ ok: true })
    expect(await copy.verifyAudit()).toMatchObject({ ok: true })
    const pairs = ((await rowsOf(there.open())).get('records_1_people')?.length ?? 0) - 300
    expect(pairs).toBeGreaterThan(0)
    // Two of each transaction, or none.
    expect(pairs % 2).toBe(0)
  })
})

const ENGINES_OF_COPY = ENGINES.memory()

describe('a backup', () => {
  const sqlite = ENGINES.sqlite()

  it('is refused for any byte that is another one, and leaves nothing that opens', async () => {
    const here = sqlite.fresh()
    await fillBusy(await openBusy(here.open()), 20)
    const { bytes } = await taken(here.open())
    const there = ENGINES_OF_COPY.fresh().open()
    // At the start each byte, then some of the rest.
    const places = [
      ...Array.from({ length: 40 }, (_, at) => at),
      ...Array.from({ length: 60 }, (_, n) => Math.floor((bytes.length * n) / 60)),
      bytes.length - 1,
    ]
    for (const place of places) {
      const changed = Uint8Array.from(bytes)
      changed[place] = (changed[place] ?? 0) ^ 1
      await expect(restoreVault({ to: there, backups: [stream(changed)] }), String(place)).rejects.toMatchObject({
        code: 'data_loss',
      })
      await expect(openBusy(there)).rejects.toMatchObject(refused)
    }
    for (const length of [10, 1000, bytes.length - 1])
      await expect(restoreVault({ to: there, backups: [stream(bytes.subarray(0, length))] })).rejects.toMatchObject({
        code: 'data_loss',
      })
    await expect(restoreVault({ to: there, backups: [stream(Buffer.concat([bytes, Buffer.of(0)]))] })).rejects.toMatchObject({
      code: 'data_loss',
    })
    await expect(openBusy(there)).rejects.toMatchObject(refused)
    await restoreVault({ to: there, backups: [stream(bytes, 7)] })
    expect(await (await openBusy(there)).verifyAudit()).toMatchObject({ ok: true })
  })

  it('is sealed for a recipient, whose key alone opens it', async () => {
    const here = sqlite.fresh()
    await fillBusy(await openBusy(here.open()), 50)
    const [pair, other] = [generateKeyPairSync('x25519'), generateKeyPairSync('x25519')]
    const pem = (key: typeof pair.privateKey) =>
      key.export({ type: key.type === 'private' ? 'pkcs8' : 'spki', format: 'pem' }).toString()
    const { bytes } = await taken(here.open(), { recipient: pem(pair.publicKey) })
    // Names of tables are in a backup that is not sealed.
    expect(bytes.includes('audit_events')).toBe(false)
    const there = ENGINES_OF_COPY.fresh().open()
    const restore = (content: Uint8Array, key?: string) =>
      restoreVault({ to: there, backups: [stream(content)], ...(key === undefined ? {} : { privateKey: key }) })
    await expect(restore(bytes)).rejects.toMatchObject({ code: 'invalid_request' })
    await expect(restore(bytes, pem(other.privateKey))).rejects.toMatchObject({ code: 'data_loss' })
    await expect(restore(bytes, pem(pair.publicKey))).rejects.toMatchObject({ code: 'invalid_request' })
    for (const place of [25, 60, 70_000, bytes.length - 1]) {
      const changed = Uint8Array.from(bytes)
      changed[place] = (changed[place] ?? 0) ^ 1
      await expect(restore(changed, pem(pair.privateKey)), String(place)).rejects.toMatchObject({ code: 'data_loss' })
    }
    // The end of a chunk looks like an end.
    await expect(restore(bytes.subarray(0, 52 + 65_552), pem(pair.privateKey))).rejects.toMatchObject({ code: 'data_loss' })
    await expect(openBusy(there)).rejects.toMatchObject(refused)
    await restore(bytes, pem(pair.privateKey))
    await openBusy(there)
    const wrong = { from: here.open(), recipient: pem(pair.privateKey) }
    expect(() => backupVault(wrong)).toThrow(expect.objectContaining({ code: 'invalid_request' }))
  })

  it('of changes is refused without the one before it, in another order, and after a restore', async () => {
    const here = sqlite.fresh()
    const vault = await openBusy(here.open())
    const { known } = await fillBusy(vault, 20)
    const full = await taken(here.open())
    await vault.as(OWNER).updateOne('people', known[0]?.id ?? '', { name: 'one timeline' })
    const second = await taken(here.open(), { since: full.manifest })
    await vault.as(OWNER).updateOne('people', known[1]?.id ?? '', { name: 'more' })
    const third = await taken(here.open(), { since: second.manifest })
    for (const backups of [[second], [full, third], [full, third, second], [full, full]])
      await expect(
        restoreVault({ to: ENGINES_OF_COPY.fresh().open(), backups: backups.map(({ bytes }) => stream(bytes)) }),
      ).rejects.toMatchObject({ code: 'failed_precondition' })
    const there = ENGINES_OF_COPY.fresh().open()
    await restoreVault({ to: there, backups: [stream(full.bytes)] })
    await (await openBusy(there)).as(OWNER).updateOne('people', known[0]?.id ?? '', { name: 'another timeline' })
    await expect(taken(there, { since: third.manifest })).rejects.toMatchObject({ code: 'failed_precondition' })
    await expect(taken(there, { since: second.manifest })).rejects.toMatchObject({ code: 'failed_precondition' })
    await taken(there, { since: full.manifest })
    const damaged = Uint8Array.from(full.manifest)
    damaged[50] = (damaged[50] ?? 0) ^ 1
    await expect(taken(there, { since: damaged })).rejects.toMatchObject({ code: 'data_loss' })
  })

  it('that is not read to its end holds nothing, and says so of its manifest', async () => {
    const here = sqlite.fresh()
    const vault = await openBusy(here.open())
    await fillBusy(vault, 700)
    const storage = here.open()
    const backup = backupVault({ from: storage })
    for await (const _ of backup) break
    await expect(backup.manifest()).rejects.toMatchObject({ code: 'cancelled' })
    await expect(taken(storage)).resolves.toBeDefined()
    await storage.close()
    await expect(taken(sqlite.fresh().open())).rejects.toMatchObject({ code: 'failed_precondition' })
  })

  it('is the same stream each time, but for the order of columns of an engine', async () => {
    const here = sqlite.fresh()
    await fillBusy(await openBusy(here.open()), 20)
    const digest = ({ bytes }: { bytes: Uint8Array }) => createHash('sha256').update(bytes).digest('hex')
    const storage = here.open()
    expect(digest(await taken(storage))).toBe(digest(await taken(storage)))
  })

  it('and a copy by a move know nothing of the processes of their source: not who has it open, and no job is leased', {
    timeout: 20_000,
  }, async () => {
    const source = memoryStorage()
    // A compaction begins with this, and is killed there.
    const stuck: StorageHandle = {
      ...source,
      delete: (table, which) => (table === INDEX_RUNS.name ? new Promise(() => {}) : source.delete(table, which)),
    }
    const tables = { people: { name: column.string({ index: 'sealed' }) } }
    const { vault, session } = await openLoose(stuck, tables)
    await session.insertOne('people', { name: 'Ann' })
    void vault.compact()
    while ((await source.find(MAINTENANCE.name, { kind: 'all' }, { order: 'asc', limit: 1 })).length === 0) await pause(1)
    const [restored, moved] = [memoryStorage(), memoryStorage()]
    await restoreVault({ to: restored, backups: [stream((await taken(source)).bytes)] })
    await moveVault({ from: source, to: moved })
    for (const storage of [restored, moved]) {
      // Its clock has the time at which the job was leased.
      const { vault: copy } = await openLoose(storage, tables)
      expect(await copy.maintenance()).toMatchObject([{ job: 'compact', isOverdue: true }])
      await copy.compact({ signal: AbortSignal.timeout(5000) })
      expect(await copy.maintenance()).toEqual([])
      await copy.rotateKeys()
      expect((await copy.keys()).stragglers).toEqual([])
    }
  })
})
