/** Nested transactions without an engine: which statements run in which order, and which calls are refused. */
import { describe, expect, it } from 'vitest'
import {
  createLevel,
  isInsideTransaction,
  type Level,
  runCall,
  runInside,
  runNested,
  runToEnd,
  type Savepoint,
} from '../../../src/adapters/sql/nested-transaction.ts'

/** Levels that write down what they run. */
function recorder(isPipelined: boolean) {
  const ran: string[] = []
  let isOpen = true
  const owner = {}
  const connection = {
    isPipelined,
    assertOpen() {
      if (!isOpen) throw new Error('rolled back by the engine')
    },
  }
  const savepoint = (name: string): Savepoint => ({
    open: () => void ran.push(`open ${name}`),
    release: () => void ran.push(`release ${name}`),
    rollback: () => void ran.push(`rollback ${name}`),
  })
  const call = (level: Level, name: string) => Promise.resolve(runCall(level, async () => void ran.push(name)))
  const close = (): void => {
    isOpen = false
  }
  return { ran, owner, root: createLevel(owner, connection), savepoint, call, close }
}

const breath = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

for (const isPipelined of [true, false]) {
  describe(`a level whose calls are ${isPipelined ? 'pipelined' : 'sequential'}`, () => {
    it('releases a savepoint whose work succeeds and returns its result', async () => {
      const { ran, root, savepoint, call } = recorder(isPipelined)
      const result = await runNested(root, savepoint('a'), async (child) => {
        await call(child, 'inside')
        return child.depth
      })
      expect(result).toBe(2)
      expect(ran).toEqual(['open a', 'inside', 'release a'])
    })

    it('rolls back a savepoint whose work throws, and rethrows the same object', async () => {
      const { ran, root, savepoint } = recorder(isPipelined)
      const thrown = { odd: true }
      await expect(runNested(root, savepoint('a'), () => Promise.reject(thrown))).rejects.toBe(thrown)
      expect(ran).toEqual(['open a', 'rollback a'])
    })

    it('makes calls and savepoints of the level wait, in order, until an open savepoint has ended', async () => {
      const { ran, root, savepoint, call } = recorder(isPipelined)
      await Promise.all([
        runNested(root, savepoint('a'), async (child) => {
          await breath()
          await call(child, 'in a')
        }),
        call(root, 'between'),
        runNested(root, savepoint('b'), (child) => call(child, 'in b')),
        call(root, 'last'),
      ])
      expect(ran).toEqual(['open a', 'in a', 'release a', 'between', 'open b', 'in b', 'release b', 'last'])
    })

    it('revokes a savepoint that was not awaited, rolls it back, and refuses every later call', async () => {
      const { ran, root, savepoint, call } = recorder(isPipelined)
      let inner: Level | undefined
      let nested: Promise<unknown> = Promise.resolve()
      let waiting: Promise<unknown> = Promise.resolve()
      await runToEnd(root, async () => {
        nested = runNested(root, savepoint('a'), (child) => {
          inner = child
          return new Promise(() => {})
        }).catch((error: unknown) => error)
        waiting = call(root, 'too late').catch((error: unknown) => error)
        await breath()
      })
      expect(ran).toEqual(['open a', 'rollback a'])
      expect(await nested).toMatchObject({ code: 'internal', message: expect.stringContaining('has ended') })
      expect(await waiting).toMatchObject({ code: 'internal', message: expect.stringContaining('has ended') })
      for (const level of [root, inner ?? root]) {
        expect(() => runCall(level, () => 1)).toThrow(/has ended/)
        expect(() => runNested(level, savepoint('b'), async () => 1)).toThrow(/has ended/)
      }
    })

    it('refuses a call to the outer level from inside a savepoint, which would wait for itself', async () => {
      const { ran, root, savepoint, call } = recorder(isPipelined)
      await runToEnd(root, () =>
        runNested(root, savepoint('a'), async () => {
          await expect(async () => call(root, 'outer')).rejects.toThrow(/outer storage/)
          expect(() => runNested(root, savepoint('b'), async () => 1)).toThrow(/outer storage/)
        }),
      )
      expect(ran).toEqual(['open a', 'release a'])
    })

    it('rolls back, and refuses calls, once the engine has ended the transaction', async () => {
      const { ran, root, savepoint, close } = recorder(isPipelined)
      const nested = runNested(root, savepoint('a'), async () => close())
      await expect(nested).rejects.toThrow('rolled back by the engine')
      expect(ran).toEqual(['open a', 'rollback a'])
      expect(() => runCall(root, () => 1)).toThrow('rolled back by the engine')
    })

    it('waits for calls that were not awaited before it ends', async () => {
      const { root } = recorder(isPipelined)
      let ended = false
      await runToEnd(root, async () => {
        void runCall(root, async () => {
          await breath()
          ended = true
        })
      })
      expect(ended).toBe(true)
    })
  })
}

it('returns a result without a promise where the connection does', () => {
  const { root } = recorder(false)
  expect(runCall(root, () => 5)).toBe(5)
})

it('runs pipelined calls together and sequential calls one after the other', async () => {
  for (const isPipelined of [true, false]) {
    const { root } = recorder(isPipelined)
    let running = 0
    let max = 0
    const call = async () => {
      max = Math.max(max, ++running)
      await breath()
      running--
    }
    await Promise.all([1, 2, 3].map(() => runCall(root, call)))
    expect(max).toBe(isPipelined ? 3 : 1)
  }
})

it('knows the handle whose transaction the running code is inside', async () => {
  const { root, owner } = recorder(true)
  expect(isInsideTransaction(owner)).toBe(false)
  await runToEnd(root, () =>
    runInside(root, async () => {
      await breath()
      expect(isInsideTransaction(owner)).toBe(true)
      expect(isInsideTransaction({})).toBe(false)
    }),
  )
  expect(isInsideTransaction(owner)).toBe(false)
})
