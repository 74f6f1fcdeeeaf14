/** Bench: tokens back to plain text, 1, 25 and 1,000 at a time, against plaintext reads of the one column by row id. */
import type { Entry } from '../entries.ts'
import type { Bench } from '../scope.ts'
import type { StoredPerson } from '../vaults.ts'
import { assertSame, type FilledReaders, filledReaders } from './filled-readers.ts'
import { measureReads, type Reading, type ReadVerb } from './measure-reads.ts'

const READINGS = {
  sqlite: [
    { kind: 'list', length: 1, audit: 'off', target: 0.25 },
    { kind: 'list', length: 25, audit: 'off' },
    { kind: 'list', length: 1000, audit: 'on', target: 0.8 },
    { kind: 'durable', length: 1 },
    { kind: 'durable', length: 25 },
  ],
  postgres: [
    { kind: 'list', length: 1000, audit: 'on', target: 0.5 },
    { kind: 'durable', length: 1 },
  ],
} as const satisfies Record<string, readonly Reading[]>

export const detokenizeBench: Bench = {
  names: ['detokenize'],
  async run(scope) {
    const entries: Entry[] = []
    for await (const readers of filledReaders(scope)) {
      const readings = readers.storage === 'postgres' ? READINGS.postgres : READINGS.sqlite
      await assertSameRead(readers)
      entries.push(...(await measureReads(scope, readers, { verb: detokenizingFrom(readers), readings })))
      await readers.close()
    }
    return entries
  },
}

/** What detokenize is asked for the ssn of a record. */
export function asked(record: StoredPerson | undefined): { token: string; redaction: 'PLAIN_TEXT' } {
  return { token: record?.tokens.ssn ?? '', redaction: 'PLAIN_TEXT' }
}

function detokenizingFrom({ stored, plaintext }: FilledReaders): ReadVerb {
  return {
    name: 'detokenize',
    call(vault, positions) {
      const tokens = positions.map((position) => asked(stored[position]))
      return () => vault.detokenize(tokens)
    },
    readPlain: plaintext.getSsnLists,
  }
}

async function assertSameRead({ vaults, stored, plaintext }: FilledReaders): Promise<void> {
  const positions = [0, stored.length - 1]
  const { records } = await vaults.audited.detokenize(positions.map((position) => asked(stored[position])))
  assertSame(
    records.map(({ value }) => value),
    await plaintext.getSsn(positions.map((position) => position + 1)),
  )
}
