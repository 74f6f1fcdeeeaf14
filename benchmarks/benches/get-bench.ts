/** Bench: records read by id in plain text, 1, 25 and 1,000 at a time. */
import type { Entry } from '../entries.ts'
import { compare, measure, type Variant } from '../harness.ts'
import { COLUMNS } from '../people.ts'
import type { Bench, Scope } from '../scope.ts'
import { assertSame, drawPositions, type FilledReaders, filledReaders, plainReads } from './filled-readers.ts'

/** Records in one call, and the least ratio for it. */
const TARGETS = {
  sqlite: [
    { length: 1, target: 0.25 },
    { length: 25, target: 0.6 },
    { length: 1000, target: 1 },
  ],
  postgres: [
    { length: 1, target: 0.5 },
    { length: 25, target: 0.5 },
    { length: 1000, target: 0.5 },
  ],
} as const

export const getBench: Bench = {
  names: ['get'],
  async run(scope) {
    const entries: Entry[] = []
    for await (const readers of filledReaders(scope)) {
      const targets = readers.storage === 'postgres' ? TARGETS.postgres : TARGETS.sqlite
      for (const { length, target } of targets) {
        const [ours, floor] = await measure(
          [ourReads(scope, readers, length), plainReads(scope, readers, { length, read: readers.plaintext.getLists })],
          scope.scale.timing,
        )
        const bench = `get ${length.toLocaleString('en')}`
        entries.push(compare({ bench, storage: readers.storage, rows: scope.scale.rows, target }, ours, floor))
      }
      await assertSameRead(readers)
      await readers.close()
    }
    return entries
  },
}

function ourReads(scope: Scope, { vault, stored }: FilledReaders, length: number): Variant {
  let lists: string[][] = []
  const read = length === 1 ? ([id = '']: readonly string[]) => vault.getOne(id) : (ids: readonly string[]) => vault.get(ids)
  return {
    name: 'strongroom',
    prepare() {
      lists = drawPositions(scope, stored.length, length).map((list) => list.map((position) => stored[position]?.id ?? ''))
    },
    async run() {
      for (const ids of lists) await read(ids)
      return lists.length * length
    },
  }
}

async function assertSameRead({ vault, stored, plaintext }: FilledReaders): Promise<void> {
  const positions = [0, stored.length - 1]
  const { records } = await vault.get(positions.map((position) => stored[position]?.id ?? ''))
  const plain = await plaintext.get(positions.map((position) => position + 1))
  const ours = records.map(({ fields }) => COLUMNS.map((name) => fields[name]))
  assertSame(
    ours,
    plain.map((person) => COLUMNS.map((name) => person[name])),
  )
}
