/** Bench: tokens back to plain text, 1 and 1,000 at a time, against plaintext reads of the one column by row id. */
import type { Entry } from '../entries.ts'
import { compare, measure, type Variant } from '../harness.ts'
import type { Bench, Scope } from '../scope.ts'
import type { StoredPerson } from '../vaults.ts'
import { assertSame, drawPositions, type FilledReaders, filledReaders, plainReads } from './filled-readers.ts'

/** Tokens in one call, and the least ratio for it. */
const TARGETS = {
  sqlite: [
    { length: 1, target: 0.25 },
    { length: 1000, target: 0.8 },
  ],
  postgres: [{ length: 1000, target: 0.5 }],
} as const

export const detokenizeBench: Bench = {
  names: ['detokenize'],
  async run(scope) {
    const entries: Entry[] = []
    for await (const readers of filledReaders(scope)) {
      const targets = readers.storage === 'postgres' ? TARGETS.postgres : TARGETS.sqlite
      for (const { length, target } of targets) {
        const [ours, floor] = await measure(
          [ourReads(scope, readers, length), plainReads(scope, readers, { length, read: readers.plaintext.getSsnLists })],
          scope.scale.timing,
        )
        const bench = `detokenize ${length.toLocaleString('en')}`
        entries.push(compare({ bench, storage: readers.storage, rows: scope.scale.rows, target }, ours, floor))
      }
      await assertSameRead(readers)
      await readers.close()
    }
    return entries
  },
}

/** What detokenize is asked for the ssn of a record. */
export function asked(record: StoredPerson | undefined): { token: string; redaction: 'PLAIN_TEXT' } {
  return { token: record?.tokens.ssn ?? '', redaction: 'PLAIN_TEXT' }
}

function ourReads(scope: Scope, { vault, stored }: FilledReaders, length: number): Variant {
  let lists: { token: string; redaction: 'PLAIN_TEXT' }[][] = []
  return {
    name: 'strongroom',
    prepare() {
      lists = drawPositions(scope, stored.length, length).map((list) => list.map((position) => asked(stored[position])))
    },
    async run() {
      for (const tokens of lists) await vault.detokenize(tokens)
      return lists.length * length
    },
  }
}

async function assertSameRead({ vault, stored, plaintext }: FilledReaders): Promise<void> {
  const positions = [0, stored.length - 1]
  const { records } = await vault.detokenize(positions.map((position) => asked(stored[position])))
  assertSame(
    records.map(({ value }) => value),
    await plaintext.getSsn(positions.map((position) => position + 1)),
  )
}
