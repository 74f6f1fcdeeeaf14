/** Each law is in the file of its name: the processes of a soak read it from there. */
import { expect, it } from 'vitest'
import { readLaw } from '../support/laws/read-law.ts'
import { ALL_LAWS } from './all-laws.ts'

it('reads every law by its name', async () => {
  for (const law of ALL_LAWS) expect(await readLaw(law.name)).toBe(law)
})

it('rejects a file without a law of its name', async () => {
  await expect(readLaw('run-law')).rejects.toThrow('exports no law of this name')
})
