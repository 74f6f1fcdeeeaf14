/** Bench: records read by id in plain text, 1, 25 and 1,000 at a time, recorded and not. */
import type { Entry } from '../entries.ts'
import { COLUMNS } from '../people.ts'
import type { Bench } from '../scope.ts'
import { assertSame, type FilledReaders, filledReaders } from './filled-readers.ts'
import { measureReads, type Reading, type ReadVerb } from './measure-reads.ts'

const DURABLE: readonly Reading[] = [{ kind: 'durable', length: 1 }, { kind: 'durable', length: 25 }, { kind: 'together' }]

const READINGS = {
  sqlite: [
    { kind: 'list', length: 1, audit: 'off', target: 0.25 },
    { kind: 'list', length: 25, audit: 'off', target: 0.6 },
    { kind: 'list', length: 1000, audit: 'on', target: 1 },
    ...DURABLE,
  ],
  postgres: [
    { kind: 'list', length: 1, audit: 'off', target: 0.5 },
    { kind: 'list', length: 25, audit: 'off', target: 0.5 },
    { kind: 'list', length: 1000, audit: 'on', target: 0.5 },
    ...DURABLE,
  ],
} as const satisfies Record<string, readonly Reading[]>

export const getBench: Bench = {
  names: ['get'],
  async run(scope) {
    const entries: Entry[] = []
    for await (const readers of filledReaders(scope)) {
      const readings = readers.storage === 'postgres' ? READINGS.postgres : READINGS.sqlite
      await assertSameRead(readers)
      entries.push(...(await measureReads(scope, readers, { verb: gettingFrom(readers), readings })))
      await readers.close()
    }
    return entries
  },
}

function gettingFrom({ stored, plaintext }: FilledReaders): ReadVerb {
  return {
    name: 'get',
    call(vault, positions) {
      const ids = positions.map((position) => stored[position]?.id ?? '')
      const [only = ''] = ids
      return ids.length === 1 ? () => vault.getOne(only) : () => vault.get(ids)
    },
    readPlain: plaintext.getLists,
  }
}

async function assertSameRead({ vaults, stored, plaintext }: FilledReaders): Promise<void> {
  const positions = [0, stored.length - 1]
  const { records } = await vaults.audited.get(positions.map((position) => stored[position]?.id ?? ''))
  const plain = await plaintext.get(positions.map((position) => position + 1))
  const ours = records.map(({ fields }) => COLUMNS.map((name) => fields[name]))
  assertSame(
    ours,
    plain.map((person) => COLUMNS.map((name) => person[name])),
  )
}
