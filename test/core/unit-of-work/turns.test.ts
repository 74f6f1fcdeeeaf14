/** Turns: changes of one key one after the other, and those that wait in one transaction. */
import { describe, expect, it } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { VaultError } from '../../../src/core/errors.ts'
import { createTurns, runEach, type SharedChange } from '../../../src/core/unit-of-work/turns.ts'
import type { TurnChange } from '../../../src/core/unit-of-work/unit-of-work.ts'

/** A change that can be held until it is released. */
interface Held {
  readonly promise: Promise<void>
  release(): void
}

function held(): Held {
  let release = (): void => {}
  const promise = new Promise<void>((resolve) => {
    release = resolve
  })
  return { promise, release }
}

/** Turns whose groups run on a storage in memory. `log` has what ran, in order; `failsNext` the error of the next transaction. */
function openTurns() {
  const log: string[] = []
  const state = { failsNext: undefined as unknown, nowMs: 0, yields: 0 }
  const storage = memoryStorage()
  const pace = {
    clock: { now: () => BigInt(state.nowMs) * 1_000_000n },
    scheduler: {
      async yield() {
        state.yields++
      },
    },
  }
  const turns = createTurns<string>((changes: readonly SharedChange<string>[]) => {
    log.push(`together ${changes.map(({ own }) => own).join(' ')}`)
    return storage.transaction(async (inner) => {
      const ends = await runEach(inner, changes, pace)
      const error = state.failsNext
      state.failsNext = undefined
      if (error !== undefined) throw error
      return ends
    })
  })
  const changeOf = (name: string, more: Partial<TurnChange<string>> = {}): TurnChange<string> => ({
    async alone() {
      log.push(`alone ${name}`)
      return name
    },
    async shared() {
      log.push(`shared ${name}`)
      return name
    },
    ...more,
  })
  return {
    log,
    state,
    turns,
    changeOf,
    run: (name: string, more?: Partial<TurnChange<string>>) => turns.run('key', changeOf(name, more), name),
  }
}

const REFUSED = new VaultError('unprocessable', 'Refused.')

describe('turns', () => {
  it('run a change at once if no other has its key', async () => {
    const { log, turns, changeOf } = openTurns()
    const first = held()
    const waiting = turns.run('one key', changeOf('a', { alone: () => first.promise.then(() => 'a') }), 'a')
    expect(await turns.run('another key', changeOf('b'), 'b')).toBe('b')
    first.release()
    expect(await waiting).toBe('a')
    expect(log).toEqual(['alone b'])
  })

  it('let changes wait for the one before them, and run them together in their order', async () => {
    const { log, run } = openTurns()
    const first = held()
    const ends = [run('a', { alone: () => first.promise.then(() => 'a') }), run('b'), run('c'), run('d')]
    await Promise.resolve()
    expect(log).toEqual([])
    first.release()
    expect(await Promise.all(ends)).toEqual(['a', 'b', 'c', 'd'])
    expect(log).toEqual(['together b c d', 'shared b', 'shared c', 'shared d'])
    log.length = 0
    expect(await run('e')).toBe('e')
    expect(log).toEqual(['alone e'])
  })

  it('run those that come while a group runs after it, and no more than 64 together', async () => {
    const { log, run } = openTurns()
    const [first, second] = [held(), held()]
    const late: Promise<string>[] = []
    const ends = [
      run('a', { alone: () => first.promise.then(() => 'a') }),
      run('b', {
        async shared() {
          for (let index = 0; index < 70; index++) late.push(run(`late-${index}`))
          await second.promise
          return 'b'
        },
      }),
      run('c'),
    ]
    first.release()
    second.release()
    expect(await Promise.all(ends)).toEqual(['a', 'b', 'c'])
    expect(await Promise.all(late)).toEqual(late.map((_, index) => `late-${index}`))
    const groups = log.filter((line) => line.startsWith('together')).map((line) => line.split(' ').length - 1)
    expect(groups).toEqual([2, 64, 6])
    expect(log.filter((line) => line.startsWith('shared late')).length).toBe(70)
  })

  it('give the event loop its turns within a group of long changes', async () => {
    const { run, state } = openTurns()
    const first = held()
    const long = {
      async shared() {
        state.nowMs += 6
        return 'long'
      },
    }
    const ends = [run('a', { alone: () => first.promise.then(() => 'a') }), ...Array.from({ length: 10 }, () => run('b', long))]
    first.release()
    await Promise.all(ends)
    expect(state.yields).toBe(9)
  })

  it('reject a refused change alone, and the others have their results', async () => {
    const { run } = openTurns()
    const first = held()
    const ends = [
      run('a', { alone: () => first.promise.then(() => Promise.reject(REFUSED)) }),
      run('b'),
      run('c', { shared: () => Promise.reject(REFUSED) }),
      run('d'),
    ]
    first.release()
    expect(await Promise.allSettled(ends)).toEqual([
      { status: 'rejected', reason: REFUSED },
      { status: 'fulfilled', value: 'b' },
      { status: 'rejected', reason: REFUSED },
      { status: 'fulfilled', value: 'd' },
    ])
    expect(await run('e')).toBe('e')
  })

  it('run each change alone if the transaction of a group fails, also by a change that cannot go on', async () => {
    const { log, run, state } = openTurns()
    const lost = new Error('the catalog must be read again')
    for (const failing of ['the transaction', 'a change']) {
      const first = held()
      const ends = [
        run('a', { alone: () => first.promise.then(() => 'a') }),
        run('b'),
        run('c', failing === 'a change' ? { shared: () => Promise.reject(lost) } : {}),
        run('d'),
      ]
      if (failing === 'the transaction') state.failsNext = new VaultError('aborted', 'Lost.')
      first.release()
      expect(await Promise.all(ends)).toEqual(['a', 'b', 'c', 'd'])
      expect(log.filter((line) => line.startsWith('alone'))).toEqual(['alone b', 'alone c', 'alone d'])
      log.length = 0
    }
  })

  it('reject all changes of a group whose transaction may be stored, and run none again', async () => {
    const { log, run, state } = openTurns()
    const first = held()
    const unknown = new VaultError('outcome_unknown', 'Lost during COMMIT.')
    const ends = [run('a', { alone: () => first.promise.then(() => 'a') }), run('b'), run('c')]
    state.failsNext = unknown
    first.release()
    const [, ...others] = await Promise.allSettled(ends)
    for (const end of others) expect(end).toEqual({ status: 'rejected', reason: unknown })
    expect(log.filter((line) => line.startsWith('alone'))).toEqual([])
    expect(await run('d')).toBe('d')
  })

  it('store nothing together if all changes of a group are refused: each is refused alone', async () => {
    const { log, run } = openTurns()
    const first = held()
    const refused = { alone: () => Promise.reject(REFUSED), shared: () => Promise.reject(REFUSED) }
    const ends = [run('a', { alone: () => first.promise.then(() => 'a') }), run('b', refused), run('c', refused)]
    first.release()
    const [, ...others] = await Promise.allSettled(ends)
    for (const end of others) expect(end).toEqual({ status: 'rejected', reason: REFUSED })
    expect(log).toEqual(['together b c'])
  })
})
