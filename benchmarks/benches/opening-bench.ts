/** Bench: how long an application waits before its first call: importing the package, opening a vault of 20 tables. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { localKeys } from '../../src/adapters/keys/index.ts'
import { sqliteStorage } from '../../src/adapters/sqlite/index.ts'
import { column, createVault, defineSchema } from '../../src/index.ts'
import { compareSizes, median } from '../harness.ts'
import type { Bench, Scope } from '../scope.ts'
import { SECRET } from '../vaults.ts'

const TABLES = 20
const OPENING_LIMIT = 50
const IMPORTING_LIMIT = 80

export const openingBench: Bench = {
  names: ['opening'],
  async run(scope) {
    const opening = scope.has('sqlite') ? [await openVaults(scope)] : []
    const importing = scope.has('none') ? [importPackages(scope)] : []
    return [...opening, ...importing]
  },
}

/** The vault was founded before: this is what a restart pays. */
async function openVaults({ places, scale: { timing } }: Scope) {
  const columns = {
    name: column.string({ token: 'random' }),
    email: column.string({ token: 'random', unique: true }),
    born: column.date(),
  }
  const schema = defineSchema(Object.fromEntries(Array.from({ length: TABLES }, (_, table) => [`table_${table}`, columns])))
  const filename = places.sqliteFile()
  const times: number[] = []
  for (let round = -timing.warmups; round < timing.rounds; round++) {
    const begun = performance.now()
    const vault = await createVault({
      id: 'bench',
      schema,
      storage: sqliteStorage({ filename }),
      keys: localKeys({ secret: SECRET }),
    })
    if (round >= 0) times.push(performance.now() - begun)
    await vault.close()
  }
  const figures = { ours: median(times), floor: `${OPENING_LIMIT} ms`, floorFigure: OPENING_LIMIT, unit: 'ms' } as const
  return compareSizes({ bench: 'opening 20 tables', storage: 'sqlite', rows: 0, target: 1 }, figures)
}

/** In a process of its own each time, counted from within: starting Node is not ours. */
function importPackages({ scale: { timing } }: Scope) {
  const built = new URL('../../dist/index.js', import.meta.url)
  const isBuilt = existsSync(built)
  const door = isBuilt ? built : new URL('../../src/index.ts', import.meta.url)
  const script = `const begun = performance.now(); await import(${JSON.stringify(door.href)}); console.log(performance.now() - begun)`
  const importOnce = () => Number(execFileSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' }))
  for (let round = 0; round < timing.warmups; round++) importOnce()
  const times = Array.from({ length: timing.rounds }, importOnce)
  const floor = `${IMPORTING_LIMIT} ms${isBuilt ? '' : ', from sources'}`
  const figures = { ours: median(times), floor, floorFigure: IMPORTING_LIMIT, unit: 'ms' } as const
  return compareSizes({ bench: 'importing', storage: 'none', rows: 0, target: 1 }, figures)
}
