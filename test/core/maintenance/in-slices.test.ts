/** Slices of a list by bytes: where they end, and that the event loop has a turn between two of them and nowhere else. */
import { expect, it } from 'vitest'
import { inSlices } from '../../../src/core/maintenance/in-slices.ts'
import { at } from '../../../src/core/util/lists.ts'

const KIB = 1024

/** Returns what happened: slices by their bounds, and turns. */
async function walk(bytes: readonly number[]): Promise<{ steps: string[]; results: readonly number[] }> {
  const steps: string[] = []
  const scheduler = {
    async yield() {
      steps.push('turn')
    },
  }
  const list = { count: bytes.length, bytesAt: (index: number) => at(bytes, index) }
  const results = await inSlices(list, scheduler, (start, end) => {
    steps.push(`${start}-${end}`)
    return bytes.slice(start, end).map((_, index) => start + index)
  })
  return { steps, results }
}

it.each([
  ['nothing', [], ['0-0']],
  ['short items are one slice', [10, 0, 10], ['0-3']],
  ['exactly a slice', [128 * KIB, 128 * KIB], ['0-2']],
  ['one byte more', [128 * KIB, 128 * KIB + 1], ['0-1', 'turn', '1-2']],
  ['an item of several slices', [10, 900 * KIB, 10], ['0-1', 'turn', '1-2', 'turn', '2-3']],
  ['many', new Array(7).fill(100 * KIB), ['0-2', 'turn', '2-4', 'turn', '4-6', 'turn', '6-7']],
])('%s', async (_, bytes, steps) => {
  expect(await walk(bytes)).toEqual({ steps, results: bytes.map((_, index) => index) })
})

it('is no promise if the list is one slice', () => {
  const scheduler = { yield: () => Promise.reject(new Error('no turn is due')) }
  expect(inSlices({ count: 2, bytesAt: () => 1 }, scheduler, (start, end) => [start, end])).toEqual([0, 2])
})

it('ends with the first slice that fails', async () => {
  const scheduler = { yield: async () => undefined }
  const done: number[] = []
  const work = (start: number) => {
    if (start === 2) throw new Error('the fault of this test')
    done.push(start)
    return [start]
  }
  await expect(inSlices({ count: 5, bytesAt: () => 300 * KIB }, scheduler, work)).rejects.toThrow('the fault of this test')
  expect(done).toEqual([0, 1])
})
