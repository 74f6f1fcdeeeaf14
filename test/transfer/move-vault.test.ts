/** A vault that was moved is the same vault in another storage, and the storage it left takes nothing more. */
import { describe, expect, it } from 'vitest'
import type { Snapshot, StorageHandle } from '../../src/core/ports/storage.ts'
import { isVaultError } from '../../src/index.ts'
import { moveVault, reopenVault } from '../../src/transfer/index.ts'
import { ENGINES, type Engine } from '../support/storages/engines.ts'
import type { EngineName } from '../support/storages/places.ts'
import { type BusyVault, fieldsOf, fillBusy, type Known, openBusy, rowsOf } from '../support/transfer/busy-vault.ts'
import { OWNER } from '../support/vaults/test-vault.ts'

/** What was confirmed to writers, and how they ended. */
interface Confirmed {
  readonly stored: Map<string, string>
  readonly removed: Set<string>
  readonly codes: Set<string>
}

/** Inserts, changes and deletes until it is refused. */
async function write(
  vault: BusyVault,
  { writer, known, confirmed }: { writer: number; known: readonly Known[]; confirmed: Confirmed },
) {
  const session = vault.as(OWNER)
  // Each has records of its own.
  const mine = known.filter((_, index) => index >= 10 && index % 2 === writer).map(({ id }) => id)
  try {
    for (let n = 0; ; n++) {
      const name = `w${writer} ${n}`
      const { records } = await session.insert('people', [{ fields: { name, email: `${name}@y.example` } }])
      confirmed.stored.set(records[0]?.id ?? '', name)
      const [changed, victim] = n % 3 === 0 ? mine.splice(0, 2) : []
      if (changed === undefined || victim === undefined) continue
      await session.updateOne('people', changed, { name: `changed ${n}` })
      confirmed.stored.set(changed, `changed ${n}`)
      await session.delete('people', [victim])
      confirmed.stored.delete(victim)
      confirmed.removed.add(victim)
    }
  } catch (error) {
    confirmed.codes.add(isVaultError(error) ? error.code : String(error))
  }
}

/** Everything that a copy must be able to do. */
async function assertSameVault(vault: BusyVault, known: readonly Known[], gone: Known): Promise<void> {
  const session = vault.as(OWNER)
  expect(await vault.verifyRecords()).toMatchObject({ ok: true })
  expect(await vault.verifyAudit()).toMatchObject({ ok: true })
  const { records } = await session.get('people', { ids: known.map(({ id }) => id), fields: ['name'] })
  expect(records.map(({ fields }) => fields.name)).toEqual(known.map(({ name }) => name))
  const { records: values } = await session.detokenize(known.map(({ token }) => ({ token, redaction: 'PLAIN_TEXT' })))
  expect(values.map(({ value }) => value)).toEqual(known.map(({ name }) => name))
  for (const [index, { id }] of known.slice(0, 3).entries()) {
    const { stream } = await session.openFile('people', id, 'scan')
    const bytes = new Uint8Array(await new Response(stream).arrayBuffer())
    expect(bytes).toEqual(new Uint8Array(100_000 * index + 5).fill(index))
  }
  // An id that a deleted record had is never that of another one. First, because an insert that is refused uses up an id.
  const fresh = await session.insert(
    'people',
    Array.from({ length: 50 }, () => ({ fields: { name: 'ANOTHER PERSON' } })),
    { tokenization: true },
  )
  expect(fresh.records.map(({ id }) => id)).not.toContain(gone.id)
  await expect(session.getOne('people', gone.id)).rejects.toMatchObject({ code: 'not_found' })
  await expect(session.detokenize([{ token: gone.token, redaction: 'PLAIN_TEXT' }])).rejects.toMatchObject({ code: 'not_found' })
  await expect(session.insert('people', [{ fields: { email: fieldsOf(1).email } }])).rejects.toMatchObject({ code: 'conflict' })
  expect((await session.listCredentials()).credentials.map(({ name }) => name)).toEqual(['app'])
}

describe.each(Object.keys(ENGINES) as EngineName[])('from %s', (source) => {
  const from: Engine = ENGINES[source]()
  describe.each(Object.keys(ENGINES) as EngineName[])('to %s', (target) => {
    const to: Engine = ENGINES[target]()

    it('has the same rows, and works with all that was handed out', async () => {
      const [here, there] = [from.fresh(), to.fresh()]
      const vault = await openBusy(here.open())
      const { known, gone } = await fillBusy(vault, 700)
      await vault.close()
      const before = await rowsOf(here.open())
      const progress: number[] = []
      const moved = await moveVault({ from: here.open(), to: there.open(), onProgress: ({ done }) => progress.push(done) })
      const copied = await rowsOf(there.open())
      for (const [table, rows] of before) {
        // Of chains and of the schema, the closing raised the versions.
        const plain = (all: typeof rows) =>
          table === 'audit_chains' || table === 'catalog' ? all.map(({ version: _, ...row }) => row) : all
        expect(plain(copied.get(table) ?? []), table).toEqual(plain(rows))
        expect(moved.rows[table]).toBe(rows.length)
      }
      expect(progress.at(-1)).toBeGreaterThan(1000)
      await assertSameVault(await openBusy(there.open()), known, gone)
      await expect(openBusy(here.open())).rejects.toMatchObject({ code: 'failed_precondition' })
    })
  })

  it('loses nothing that was confirmed to writers, and stops them when the copy takes over', async () => {
    const [here, there] = [from.fresh(), ENGINES_OF_COPY.fresh()]
    const vaults = [await openBusy(here.open()), await openBusy(here.open())]
    const { known } = await fillBusy(vaults[0] as BusyVault, 500)
    const confirmed: Confirmed = {
      stored: new Map(known.map(({ id, name }) => [id, name])),
      removed: new Set(),
      codes: new Set(),
    }
    const writers = vaults.map((vault, writer) => write(vault, { writer, known, confirmed }))
    await moveVault({
      from: here.open(),
      to: there.open(),
      onProgress: () => new Promise((resolve) => setTimeout(resolve, 3)),
    })
    await Promise.all(writers)
    const { stored, removed, codes } = confirmed
    expect([...codes]).toEqual(['failed_precondition'])
    const copy = await openBusy(there.open())
    expect(await copy.verifyRecords()).toMatchObject({ ok: true })
    expect(await copy.verifyAudit()).toMatchObject({ ok: true })
    const session = copy.as(OWNER)
    const ids = [...stored.keys()]
    for (let start = 0; start < ids.length; start += 500) {
      const part = ids.slice(start, start + 500)
      const { records } = await session.get('people', { ids: part, fields: ['name'] })
      for (const [index, { fields }] of records.entries()) {
        expect(fields.name).toBe(stored.get(part[index] ?? ''))
      }
    }
    for (const id of removed) await expect(session.getOne('people', id)).rejects.toMatchObject({ code: 'not_found' })
  })
})

const ENGINES_OF_COPY = ENGINES.memory()

describe('a move', () => {
  const sqlite = ENGINES.sqlite()

  it('is refused into a storage that holds a vault, and from one that holds none', async () => {
    const [full, other, empty] = [sqlite.fresh(), sqlite.fresh(), sqlite.fresh()]
    for (const place of [full, other]) await (await openBusy(place.open())).close()
    await expect(moveVault({ from: full.open(), to: other.open() })).rejects.toMatchObject({ code: 'failed_precondition' })
    await expect(moveVault({ from: empty.open(), to: sqlite.fresh().open() })).rejects.toMatchObject({
      code: 'failed_precondition',
    })
    await (await openBusy(full.open())).as(OWNER).insert('notes', [{ fields: { text: 'still here' } }])
    await openBusy(other.open())
  })

  it('that ended early leaves a copy that does not open, and the vault as it was; run again, it ends', async () => {
    const [here, there] = [sqlite.fresh(), sqlite.fresh()]
    const vault = await openBusy(here.open())
    const { known, gone } = await fillBusy(vault, 300)
    const signal = AbortSignal.abort()
    await expect(moveVault({ from: here.open(), to: there.open(), signal })).rejects.toMatchObject({ code: 'cancelled' })
    await expect(openBusy(there.open())).rejects.toMatchObject({
      code: 'failed_precondition',
      message: expect.stringContaining('A copy of a vault into this storage has not ended'),
    })
    await vault.as(OWNER).insert('notes', [{ fields: { text: 'meanwhile' } }])
    await moveVault({ from: here.open(), to: there.open() })
    await assertSameVault(await openBusy(there.open()), known, gone)
  })

  it('that ended early after it closed the vault goes on with the same storage only, or is given up', async () => {
    const [here, there, elsewhere] = [sqlite.fresh(), sqlite.fresh(), sqlite.fresh()]
    const { known, gone } = await fillBusy(await openBusy(here.open()), 300)
    const failing = there.open()
    const full = Object.assign(new Error('full'), { code: 'ENOSPC' })
    await expect(moveVault({ from: here.open(), to: { ...failing, raiseIds: () => Promise.reject(full) } })).rejects.toBe(full)
    await expect(openBusy(there.open())).rejects.toMatchObject({ code: 'failed_precondition' })
    await expect(openBusy(here.open())).rejects.toMatchObject({ code: 'failed_precondition' })
    await expect(moveVault({ from: here.open(), to: elsewhere.open() })).rejects.toMatchObject({
      code: 'failed_precondition',
      message: expect.stringContaining('closed by a move into another storage'),
    })
    await reopenVault(here.open())
    await assertSameVault(await openBusy(here.open()), known, gone)
    await moveVault({ from: here.open(), to: there.open() })
    await openBusy(there.open())
  })

  it('that has ended is neither run again nor given up by mistake', async () => {
    const [here, there] = [sqlite.fresh(), sqlite.fresh()]
    await fillBusy(await openBusy(here.open()), 10)
    await moveVault({ from: here.open(), to: there.open() })
    await expect(moveVault({ from: here.open(), to: there.open() })).rejects.toMatchObject({
      code: 'failed_precondition',
      message: expect.stringContaining('that move has ended, or was about to'),
    })
    await expect(reopenVault(here.open())).rejects.toMatchObject({ code: 'failed_precondition' })
    await expect(openBusy(here.open())).rejects.toMatchObject({ code: 'failed_precondition' })
    await openBusy(there.open())
    await reopenVault(here.open(), { copyIsDestroyed: true })
    await openBusy(here.open())
  })

  it('that is killed just before the copy opens goes on, and cannot be given up by mistake', async () => {
    const [here, there] = [sqlite.fresh(), sqlite.fresh()]
    const { known, gone } = await fillBusy(await openBusy(here.open()), 20)
    const to = there.open()
    const killed = new Error('killed')
    const transaction: StorageHandle['transaction'] = (work) =>
      to.transaction((inner) =>
        work({
          ...inner,
          insert: (table, rows) => (table === 'vault_marker' ? Promise.reject(killed) : inner.insert(table, rows)),
        }),
      )
    await expect(moveVault({ from: here.open(), to: { ...to, transaction } })).rejects.toBe(killed)
    await expect(reopenVault(here.open())).rejects.toMatchObject({ code: 'failed_precondition' })
    await expect(openBusy(there.open())).rejects.toMatchObject({ code: 'failed_precondition' })
    await moveVault({ from: here.open(), to: there.open() })
    await assertSameVault(await openBusy(there.open()), known, gone)
  })

  it('into a storage that another move has begun to use leaves the vault open', async () => {
    const [here, there] = [sqlite.fresh(), sqlite.fresh()]
    await fillBusy(await openBusy(here.open()), 20)
    const signal = AbortSignal.abort()
    let isTaken = false
    const onProgress = async () => {
      if (isTaken) return
      isTaken = true
      // The other one begins anew, and is killed.
      await moveVault({ from: here.open(), to: there.open(), signal }).catch(() => {})
    }
    await expect(moveVault({ from: here.open(), to: there.open(), onProgress })).rejects.toMatchObject({ code: 'aborted' })
    await openBusy(here.open())
  })

  it('of two at once into two storages, one closes the vault, and the other says so', async () => {
    const [here, one, other] = [sqlite.fresh(), sqlite.fresh(), sqlite.fresh()]
    await fillBusy(await openBusy(here.open()), 20)
    let isOver = false
    const onProgress = async () => {
      if (isOver) return
      isOver = true
      await moveVault({ from: here.open(), to: one.open() })
    }
    await expect(moveVault({ from: here.open(), to: other.open(), onProgress })).rejects.toMatchObject({
      code: 'failed_precondition',
      message: expect.stringContaining('Another move of the vault closed this storage first'),
    })
    await openBusy(one.open())
  })

  it('reports, and ends, while it waits for its pace', async () => {
    const [here, there] = [sqlite.fresh(), sqlite.fresh()]
    await fillBusy(await openBusy(here.open()), 300)
    const controller = new AbortController()
    let [reports, aborted] = [0, 0]
    const onProgress = (): void => {
      if (++reports !== 3) return
      // At its pace the move has half a minute to go.
      setTimeout(() => {
        aborted = performance.now()
        controller.abort()
      }, 50)
    }
    const moved = moveVault({ from: here.open(), to: there.open(), pace: 10, signal: controller.signal, onProgress })
    await expect(moved).rejects.toMatchObject({ code: 'cancelled' })
    expect(performance.now() - aborted).toBeLessThan(5000)
    expect(reports).toBeGreaterThan(2)
  })

  const PLANTED: Readonly<Record<string, (snapshot: Snapshot) => Promise<Snapshot>>> = {
    'counters that are the highest id and one': async (snapshot) => ({
      ...snapshot,
      tables: await Promise.all(
        snapshot.tables.map(async (table) => {
          const [last] = await snapshot.find(table.name, { kind: 'all' }, { order: 'desc', limit: 1, columns: [] })
          return { ...table, nextId: (last?.id ?? 0) + 1 }
        }),
      ),
    }),
    'times that are doubles': async (snapshot) => ({
      ...snapshot,
      find: async (...page) =>
        (await snapshot.find(...page)).map((row) => (typeof row.at === 'bigint' ? { ...row, at: Number(row.at) } : row)),
    }),
    'a table that is left out': async (snapshot) => ({
      ...snapshot,
      tables: snapshot.tables.filter(({ name }) => name !== 'credentials'),
    }),
    'rows of another moment in one table': async (snapshot) => ({
      ...snapshot,
      find: async (table, ...page) => (await snapshot.find(table, ...page)).slice(table === 'tokens' ? 1 : 0),
    }),
  }

  for (const [fault, plant] of Object.entries(PLANTED)) {
    it(`with ${fault} is found`, async () => {
      const [here, there] = [sqlite.fresh(), sqlite.fresh()]
      const vault = await openBusy(here.open())
      const { known, gone } = await fillBusy(vault, 100)
      await vault.close()
      const sound = here.open()
      const from = {
        ...sound,
        snapshot: <T>(work: (s: Snapshot) => Promise<T>) => sound.snapshot(async (s) => work(await plant(s))),
      }
      // An integer column refuses a double with a fraction, so a move can fail as well.
      const found = moveVault({ from, to: there.open() }).then(async () =>
        assertSameVault(await openBusy(there.open()), known, gone),
      )
      await expect(found).rejects.toThrow()
    })
  }
})
