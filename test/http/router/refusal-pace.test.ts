/** The time of a refusal does not show whether the vault exists that the request names. */
import { expect, it } from 'vitest'
import { createRefusalPace } from '../../../src/http/router/refusal-pace.ts'

/** A pace whose recordings take given times, and the times that it waited for. */
function paceOf() {
  const waited: number[] = []
  let now = 0
  const pace = createRefusalPace({ now: () => now, wait: async (milliseconds) => void waited.push(milliseconds) })
  const recordIn = (milliseconds: number): Promise<void> =>
    pace.recording(async () => {
      now += milliseconds
    })
  return { pace, waited, recordIn }
}

it('waits for as long as one of the last recordings took', async () => {
  const { pace, waited, recordIn } = paceOf()
  for (const milliseconds of [7, 8, 9]) await recordIn(milliseconds)
  for (let request = 0; request < 200; request++) await pace.withoutVault()
  expect(new Set(waited)).toEqual(new Set([7, 8, 9]))
})

it('forgets what took long ago, and keeps no time of a storage in trouble', async () => {
  const { pace, waited, recordIn } = paceOf()
  for (let recording = 0; recording < 32; recording++) await recordIn(60_000)
  await pace.withoutVault()
  for (let recording = 0; recording < 32; recording++) await recordIn(5)
  await pace.withoutVault()
  expect(waited).toEqual([250, 5])
})

it('waits before anything was recorded too, and passes on what recording throws', async () => {
  const { pace, waited } = paceOf()
  await pace.withoutVault()
  expect(waited[0]).toBeGreaterThan(0)
  await expect(pace.recording(() => Promise.reject(new Error('storage')))).rejects.toThrow('storage')
})
