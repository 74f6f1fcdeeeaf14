/** The part of the stored schema that this process knows, compiled. It follows changes of the stored one: each attempt of an operation takes it as it is then, and an attempt that took an older one is not believed. */
import type { PhysicalTable, PrepareOptions, StorageReads } from '../ports/storage.ts'
import { type CatalogSchema, knownPart } from '../schema/catalog-schema.ts'
import type { SchemaDefinition } from '../schema/column.ts'
import { type Layout, layoutSchema } from '../schema/layout.ts'
import type { Catalog } from './open-catalog.ts'

/** What this process knows of the stored schema. */
export interface LiveSchema {
  /** The tables and columns of the definition that the process was opened with, as they are stored, with the names of that definition. */
  readonly part: CatalogSchema
  /** The same, compiled: another object after each change. Source: docs/decisions/0054-a-layout-for-each-attempt.md. */
  readonly layout: Layout
}

/** Returns the part of the stored schema that a definition has. It is replaced in the moment in which the catalog adopts another schema. */
export function followSchema(catalog: Catalog, definition: SchemaDefinition): LiveSchema {
  let part = knownPart(definition, catalog.state.schema)
  let layout = layoutSchema(part, layoutSchema(catalog.state.schema))
  catalog.onSchema(async (schema, storage) => {
    const nextPart = knownPart(definition, schema, part)
    const stored = layoutSchema(schema)
    const next = layoutSchema(nextPart, stored)
    await storage.prepare(storedOf(next, stored))
    return () => {
      part = nextPart
      layout = next
    }
  })
  return {
    get part() {
      return part
    },
    get layout() {
      return layout
    },
  }
}

/** Returns the physical tables of a part of the stored schema without what was erased: a process that still has it would make it again. */
function storedOf({ tables }: Layout, stored: Layout): readonly PhysicalTable[] {
  const all = new Map([...stored.tables.values()].map(({ physical }) => [physical.name, physical]))
  return [...tables.values()].flatMap(({ physical }) => {
    const names = new Set(all.get(physical.name)?.columns.map(({ name }) => name))
    const columns = physical.columns.filter(({ name }) => names.has(name))
    const indexes = physical.indexes.filter((index) => index.columns.every((name) => names.has(name)))
    return names.size === 0 ? [] : [{ ...physical, columns, indexes }]
  })
}

/** Prepares the tables of a layout. */
export function prepareLayout(
  storage: Pick<StorageReads, 'prepare'>,
  { tables }: Pick<Layout, 'tables'>,
  options?: PrepareOptions,
): Promise<void> {
  return storage.prepare(
    [...tables.values()].map(({ physical }) => physical),
    options,
  )
}
