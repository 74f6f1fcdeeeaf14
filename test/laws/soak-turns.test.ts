/** How a soak divides its time among laws. */
import { expect, it } from 'vitest'
import { takeTurns } from '../../scripts/soak-turns.ts'

const law = (name: string, weight = 1) => ({ name, weight })

it('begins laws in order, each with its share of the time by weight', async () => {
  const begin = Date.now()
  const shares: [string, number][] = []
  const laws = [law('small'), law('large', 3), law('last')]
  await takeTurns(laws, { milliseconds: 5_000_000, jobs: 1, overtimeMs: 0 }, async ({ name }, deadline) => {
    shares.push([name, Math.round((deadline - begin) / 100_000)])
  })
  // A law that ends at once leaves its share to those after it.
  expect(shares).toEqual([
    ['small', 10],
    ['large', 38],
    ['last', 50],
  ])
})

it('two laws at the same time share the time of both jobs', async () => {
  const begin = Date.now()
  const shares: number[] = []
  const ends: (() => void)[] = []
  await takeTurns([law('a'), law('b')], { milliseconds: 1_000_000, jobs: 2, overtimeMs: 0 }, async (_, deadline) => {
    shares.push(Math.round((deadline - begin) / 100_000))
    await new Promise<void>((resolve) => {
      ends.push(resolve)
      if (ends.length === 2) for (const end of ends) end()
    })
  })
  expect(shares).toEqual([10, 10])
})

it('a law whose case does not end holds up no other law', async () => {
  const begun: string[] = []
  let release = (): void => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  await takeTurns([law('slow'), law('next'), law('last')], { milliseconds: 30, jobs: 1, overtimeMs: 0 }, async ({ name }) => {
    begun.push(name)
    if (name === 'last') release()
    // It ends only after the last law has begun: a soak that waits for it never ends.
    if (name === 'slow') await released
  })
  expect(begun).toEqual(['slow', 'next', 'last'])
})

it('waits for late laws, and fails with them', async () => {
  const turns = takeTurns([law('slow')], { milliseconds: 1, jobs: 1, overtimeMs: 0 }, async () => {
    await new Promise((resolve) => setTimeout(resolve, 50))
    throw new Error('the case is wrong')
  })
  await expect(turns).rejects.toThrow('the case is wrong')
})
