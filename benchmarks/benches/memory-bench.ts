/** Bench: the vault in memory against a Map of plain objects copied through JSON. */
import { createMemoryMap } from '../floors/memory-map.ts'
import { compare, measure } from '../harness.ts'
import type { Batch } from '../people.ts'
import { BATCH, type Bench, type Scope } from '../scope.ts'
import { fill, fillAndKeep, openMemoryVault } from '../vaults.ts'
import { drawPositions } from './filled-readers.ts'

const TARGET = 0.15

export const memoryBench: Bench = {
  names: ['memory'],
  async run(scope) {
    if (!scope.has('memory')) return []
    return [await insertInMemory(scope), await getFromMemory(scope)]
  },
}

async function insertInMemory({ scale, people }: Scope) {
  const vault = await openMemoryVault()
  const map = createMemoryMap()
  await fill(scale.rows, people.next, vault.insert)
  await fill(scale.rows, people.next, map.insert)
  let inHand: Batch[] = []
  const prepare = () => {
    inHand = Array.from({ length: scale.batches }, () => people.next(BATCH))
  }
  const ours = {
    name: 'strongroom',
    prepare,
    async run() {
      for (const batch of inHand) await vault.insert(batch)
      return inHand.length * BATCH
    },
  }
  const floor = {
    name: 'Map, copied through JSON',
    prepare,
    run() {
      for (const batch of inHand) map.insert(batch)
      return inHand.length * BATCH
    },
  }
  const [us, them] = await measure([ours, floor], scale.timing)
  await vault.close()
  return compare({ bench: 'insert 1,000', storage: 'memory', rows: scale.rows, target: TARGET }, us, them)
}

async function getFromMemory(scope: Scope) {
  const { scale, people } = scope
  const vault = await openMemoryVault()
  const map = createMemoryMap()
  const stored = await fillAndKeep(scale.rows, people.next, vault.insert)
  await fill(scale.rows, people.next, map.insert)
  let ids: string[][] = []
  const ours = {
    name: 'strongroom',
    prepare() {
      ids = drawPositions(scope, stored.length, BATCH).map((list) => list.map((position) => stored[position]?.id ?? ''))
    },
    async run() {
      for (const list of ids) await vault.get(list)
      return ids.length * BATCH
    },
  }
  let keys: number[][] = []
  const floor = {
    name: 'Map, copied through JSON',
    prepare() {
      keys = drawPositions(scope, stored.length, BATCH).map((list) => list.map((position) => position + 1))
    },
    run() {
      for (const list of keys) map.get(list)
      return keys.length * BATCH
    },
  }
  const [us, them] = await measure([ours, floor], scale.timing)
  await vault.close()
  return compare({ bench: 'get 1,000', storage: 'memory', rows: scale.rows, target: TARGET }, us, them)
}
