/** The storage engines under test. Each opens fresh storages for one suite, and closes and removes them at its end. */
import { afterAll, beforeAll, describe, inject } from 'vitest'
import { type Engine, type EngineName, memoryPlaces, type OpenEngine, postgresPlaces, sqlitePlaces } from './places.ts'

export type { Engine, EngineName, Place } from './places.ts'

/** Storages in memory. */
export function memoryEngine(): Engine<'memory'> {
  return memoryPlaces()
}

/** Storages in SQLite files, each in a folder of its own. Call it in a `describe`, or at the top of a file. */
export function sqliteEngine(): Engine<'sqlite'> {
  const engine = sqlitePlaces()
  afterAll(() => engine.close())
  return engine
}

/** Storages in a PostgreSQL database of the suite, each in a schema of its own. Call it in a `describe`, or at the top of a file. */
export function postgresEngine(): Engine<'postgres'> {
  let engine: OpenEngine<'postgres'> | undefined
  beforeAll(async () => {
    engine = await postgresPlaces(inject('postgresUrl'))
  })
  afterAll(() => engine?.close())
  return {
    name: 'postgres',
    fresh() {
      if (engine === undefined) throw new Error('Open a storage inside a test or a hook, not inside describe.')
      return engine.fresh()
    },
  }
}

/** Every engine by name, to set one up inside `describe.each`. */
export const ENGINES: { readonly [Name in EngineName]: () => Engine<Name> } = {
  memory: memoryEngine,
  sqlite: sqliteEngine,
  postgres: postgresEngine,
}

/** Describes the tests once for each engine. What they open is closed and removed at the end. */
export function onEachStorage(title: string, body: (engine: Engine) => void): void {
  for (const [name, setUp] of Object.entries(ENGINES)) describe(`${title} on ${name}`, () => body(setUp()))
}
