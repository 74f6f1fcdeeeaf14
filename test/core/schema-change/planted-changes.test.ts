/** Changes of the schema with planted faults: the model of the records finds each. Without the fault, the same work equals the model. */
import { describe, expect, it } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import type { Row, Storage, StorageHandle } from '../../../src/core/ports/storage.ts'
import { column } from '../../../src/index.ts'
import {
  BEFORE,
  COLUMNS,
  expectModel,
  fillPeople,
  KINDS,
  type Kind,
  openChanging,
  PLAIN,
  person,
  schemaOf,
  sessionOf,
  work,
} from '../../support/schema-change/changing-vault.ts'

const SEARCHABLE = KINDS.find(({ name }) => name === 'searchable on') as Kind
const ENCRYPTED: Kind = {
  name: 'encrypted on',
  after: schemaOf({ ...COLUMNS, city: column.string({ ...PLAIN, unique: true }) }),
  finds: ['city'],
  steps: [],
}

/** Returns the storage of one process with other methods, inside transactions too. */
function planted(sound: StorageHandle, faultsOf: (inner: Storage) => Partial<Storage>): StorageHandle {
  const wrap = (inner: Storage): Storage => ({
    ...inner,
    transaction: (run, options) => inner.transaction((within) => run(wrap(within)), options),
    ...faultsOf(inner),
  })
  return { ...sound, ...wrap(sound) }
}

const isFilled = (cell: string): boolean => /^digest_\d+_name$/.test(cell)

/** Cells without those that the change fills. */
function older<Cells extends object>(cells: Cells): Cells {
  return Object.fromEntries(Object.entries(cells).map(([cell, value]) => [cell, isFilled(cell) ? null : value])) as Cells
}

/** A writer that stores only what the schema before has. */
const storesOne = (inner: Storage): Partial<Storage> => ({
  insert: (table, rows) => inner.insert(table, rows.map(older)),
  update: (table, patches) =>
    inner.update(
      table,
      patches.map((patch) => ({ ...patch, set: older(patch.set) })),
    ),
  commit: ({ updates, inserts }, options) =>
    inner.commit(
      {
        updates: updates.map(({ table, patches }) => ({
          table,
          patches: patches.map((patch) => ({ ...patch, set: older(patch.set) })),
        })),
        inserts: inserts.map(({ table, rows }) => ({ table, rows: rows.map(older) })),
      },
      options,
    ),
})

/** A change that stores what it filled without a look at the version of the row. */
const comparesNot = (inner: Storage): Partial<Storage> => ({
  async update(table, patches) {
    const rows = await inner.get(
      table,
      patches.map(({ id }) => id),
    )
    const versions = new Map(
      rows.flatMap((row): [number, Row['version']][] => (row === undefined ? [] : [[row.id, row.version]])),
    )
    const isFill = patches.every(({ set }) => Object.keys(set).every(isFilled))
    return inner.update(table, isFill ? patches.map((patch) => ({ ...patch, version: versions.get(patch.id) ?? 0 })) : patches)
  },
})

describe.each([
  ['as it is', () => ({}), false],
  ['planted', storesOne, true],
] as const)('a writer that stores both cells: %s', (_name, fault, isFound) => {
  it(isFound ? 'is found' : 'equals the model', async () => {
    const sound = memoryStorage()
    const changing = await openChanging(sound, BEFORE)
    const writer = await openChanging(planted(sound, fault), BEFORE)
    const model = await fillPeople(changing, 20)
    let isOver = false
    const busy = work(writer, model, { writer: '100', isOver: () => isOver })
    await changing.applySchemaChange(await changing.planSchemaChange(SEARCHABLE.after)).finally(() => {
      isOver = true
    })
    await busy
    await work(writer, model, { writer: '200', isOver: () => true })
    const checked = openChanging(sound, SEARCHABLE.after).then((vault) => expectModel(vault, model, SEARCHABLE))
    if (isFound) await expect(checked).rejects.toThrow()
    else await checked
  })
})

describe.each([
  ['as it is', {}, false],
  // Its time does not move, so that what it knows of the catalog is always fresh to it.
  ['planted', { stopwatch: { now: () => 0 } }, true],
] as const)('a reader that looks at the catalog: %s', (_name, options, isFound) => {
  it(isFound ? 'is found' : 'equals the model', async () => {
    const sound = memoryStorage()
    const changing = await openChanging(sound, BEFORE)
    const reader = await openChanging(sound, BEFORE, options)
    const model = await fillPeople(changing, 20)
    await changing.applySchemaChange(await changing.planSchemaChange(ENCRYPTED.after))
    const checked = expectModel(reader, model, { name: 'reads', after: BEFORE, steps: [] })
    if (isFound) await expect(checked).rejects.toThrow()
    else await checked
  })
})

describe.each([
  ['as it is', () => ({}), false],
  ['planted', comparesNot, true],
] as const)('a fill that compares: %s', (_name, fault, isFound) => {
  it(isFound ? 'is found' : 'equals the model', async () => {
    const sound = memoryStorage()
    const writer = await openChanging(sound, BEFORE)
    const model = await fillPeople(writer, 20)
    let isLate = true
    /** Others change a record between the read of a slice and its write. */
    const racing = planted(sound, (inner) => ({
      async find(table, filter, page) {
        const rows = await inner.find(table, filter, page)
        if (!isLate || !table.includes('people') || page.after !== 0 || rows.length < 20) return rows
        isLate = false
        const { key } = person(7)
        const changed = { ...person(7, 1), key }
        const { id } = model.get(key) ?? { id: '' }
        await sessionOf(writer).updateOne('people', id, changed)
        model.set(key, { id, fields: changed })
        return rows
      },
      ...fault(inner),
    }))
    const changing = await openChanging(racing, BEFORE)
    const plan = await changing.planSchemaChange(SEARCHABLE.after, {}, { readsRecords: false })
    await changing.applySchemaChange(plan)
    expect(isLate).toBe(false)
    const checked = openChanging(sound, SEARCHABLE.after).then((vault) => expectModel(vault, model, SEARCHABLE))
    if (isFound) await expect(checked).rejects.toThrow()
    else await checked
  })
})
