/** Maintenance passes: slices until the last, progress, and pauses in between. */
import { expect, it } from 'vitest'
import { runPass } from '../../../src/core/pace/pass.ts'

/** A pass over slices of these sizes. */
function passOf(...sizes: number[]) {
  return {
    async slice() {
      const rows = sizes.shift() ?? 0
      return { rows, isLast: sizes.length === 0 }
    },
  }
}

it('runs every slice, reports the rows so far, and yields between two slices', async () => {
  const events: string[] = []
  const scheduler = { yield: async () => void events.push('yield') }
  const total = await runPass(passOf(3, 2, 0), { scheduler, onProgress: (rows) => void events.push(`${rows} rows`) })
  expect(total).toBe(5)
  expect(events).toEqual(['3 rows', 'yield', '5 rows', 'yield', '5 rows'])
})

it('passes on the error of a slice; a pass that runs again continues', async () => {
  const slices = [async () => ({ rows: 2, isLast: false }), async () => Promise.reject(new Error('lost'))]
  const pass = { slice: () => (slices.shift() ?? (async () => ({ rows: 1, isLast: true })))() }
  const scheduler = { yield: async () => {} }
  await expect(runPass(pass, { scheduler })).rejects.toThrow('lost')
  expect(await runPass(pass, { scheduler })).toBe(1)
})
