/** Times reads, ours and a floor's in turns: shared by the benches that read by position. */
import type { Entry } from '../entries.ts'
import { compare, measure, type Variant } from '../harness.ts'
import type { Person } from '../people.ts'
import { BATCH, type Scope } from '../scope.ts'
import type { PeopleVault } from '../vaults.ts'
import { CALLERS, callersAtOnce } from './callers.ts'
import { drawPositions, type FilledReaders } from './filled-readers.ts'

/**
 * One way of reading. `list`: so many records a call against plaintext reads, which record nothing. `durable`: a call that
 * waits for its own commit, against the driver committing one row for each call. `together`: one record a call by many callers.
 */
export type Reading =
  | { readonly kind: 'list'; readonly length: number; readonly audit: 'on' | 'off'; readonly target?: number }
  | { readonly kind: 'durable'; readonly length: number }
  | { readonly kind: 'together' }

/** What is read, from a vault and from plaintext, at positions of what is stored. */
export interface ReadVerb {
  readonly name: string
  /** What one of our calls is given. */
  call(vault: PeopleVault, positions: readonly number[]): () => Promise<unknown>
  readPlain(lists: readonly (readonly number[])[]): void | Promise<void>
}

/** Commits in one timed run: each waits for the disk. */
const MOST_COMMITS = 100

/** One entry for each reading. */
export async function measureReads(
  scope: Scope,
  readers: FilledReaders,
  { verb, readings }: { readonly verb: ReadVerb; readonly readings: readonly Reading[] },
): Promise<Entry[]> {
  const entries: Entry[] = []
  for (const reading of readings) {
    const [ours, floor] = await measure(variantsOf(scope, readers, { verb, reading }), scope.scale.timing)
    const target = reading.kind === 'list' ? reading.target : undefined
    const subject = { bench: `${verb.name} ${wordsFor(reading)}`, storage: readers.storage, rows: scope.scale.rows }
    entries.push(compare(target === undefined ? subject : { ...subject, target }, ours, floor))
  }
  return entries
}

/** What a reading is called. Lists of 1,000 are audited unless they say otherwise; shorter ones always say which they are. */
function wordsFor(reading: Reading): string {
  if (reading.kind === 'together') return `1, audited, ${CALLERS} callers`
  const length = reading.length.toLocaleString('en')
  if (reading.kind === 'durable') return `${length}, audited`
  if (reading.audit === 'off') return `${length}, audit off`
  return reading.length === BATCH ? length : `${length}, audited`
}

interface Measuring {
  readonly verb: ReadVerb
  readonly reading: Reading
}

function variantsOf(scope: Scope, readers: FilledReaders, { verb, reading }: Measuring): [ours: Variant, floor: Variant] {
  const draw = (length: number): number[][] => drawPositions(scope, readers.stored.length, length)
  const { vaults, plaintext } = readers
  if (reading.kind === 'together') {
    const some = (): number[][] => draw(1).slice(0, scope.scale.insertsPerCaller)
    return [
      callersAtOnce({
        name: 'strongroom',
        hand: () => some().map((positions) => verb.call(vaults.audited, positions)),
        call: (read) => read(),
      }),
      callersAtOnce({ name: COMMITS, hand: () => personsFor(scope, scope.scale.insertsPerCaller), call: plaintext.insertOne }),
    ]
  }
  const { length } = reading
  if (reading.kind === 'durable') {
    const some = (): number[][] => draw(length).slice(0, MOST_COMMITS)
    return [ourReads(verb, { vault: vaults.audited, draw: some, length }), commits(scope, readers, { draw: some, length })]
  }
  const vault = reading.audit === 'on' ? vaults.audited : vaults.unaudited
  return [
    ourReads(verb, { vault, draw: () => draw(length), length }),
    plainReads(verb, readers, { draw: () => draw(length), length }),
  ]
}

interface Lists {
  readonly length: number
  draw(): number[][]
}

function ourReads(verb: ReadVerb, { vault, draw, length }: Lists & { readonly vault: PeopleVault }): Variant {
  let calls: (() => Promise<unknown>)[] = []
  return {
    name: 'strongroom',
    prepare() {
      calls = draw().map((positions) => verb.call(vault, positions))
    },
    async run() {
      for (const call of calls) await call()
      return calls.length * length
    },
  }
}

function plainReads(verb: ReadVerb, { plaintext }: FilledReaders, { draw, length }: Lists): Variant {
  let lists: number[][] = []
  return {
    name: plaintext.name,
    prepare() {
      lists = draw().map((list) => list.map((position) => position + 1))
    },
    run() {
      const answer = verb.readPlain(lists)
      const done = lists.length * length
      return answer === undefined ? done : answer.then(() => done)
    },
  }
}

const COMMITS = 'the driver, a commit for each call'

/** As many commits as there are calls, counted as the records those calls read. */
function commits(scope: Scope, { plaintext }: FilledReaders, { draw, length }: Lists): Variant {
  let persons: readonly Person[] = []
  return {
    name: COMMITS,
    prepare() {
      persons = personsFor(scope, draw().length)
    },
    async run() {
      for (const person of persons) await plaintext.insertOne(person)
      return persons.length * length
    },
  }
}

function personsFor({ people }: Scope, count: number): Person[] {
  return people.next(count).map(({ fields }) => fields)
}
