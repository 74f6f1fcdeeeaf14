/** Law: a caller who may not see files learns nothing of them, and their contents and names are stored sealed only. */
import { openArchiveOfPair, outcomeOf, type PairOptions, POLICY, randomArchiveRequest } from '../support/files/paired-archives.ts'
import { createCanaries } from '../support/leaks/canaries.ts'
import { randomFor } from '../support/random/seeded-random.ts'
import type { Law } from './law.ts'

/** Requests of a case. */
const STEPS = 20

export const fileLeaks: Law = {
  name: 'file-leaks',
  statement:
    'Two vaults that differ in files that a caller may not see answer alike, and no content or name gets out or is stored in plain',
  unit: 'requests',
  figures: { test: 800, soak: 100_000 },
  weight: 1,
  open: () => ({
    async check({ seed }) {
      const leaks = await leaksOfFiles(seed)
      if (leaks.length > 0) throw new Error(leaks.join('\n'))
      return STEPS
    },
  }),
}

/** Compares two vaults. Returns a line for each leak. */
export async function leaksOfFiles(seed: string, options: PairOptions = {}): Promise<string[]> {
  const random = randomFor(seed)
  const canaries = createCanaries(random)
  const role = random.pick(Object.keys(POLICY))
  const left = await openArchiveOfPair(seed, { canaries, random: random.fork('left'), role }, options)
  const right = await openArchiveOfPair(seed, { canaries, random: random.fork('right'), role }, options)
  if (left.ids.join() !== right.ids.join()) throw new Error('the records of a pair have different ids')
  const leaks: string[] = []
  for (let step = 0; step < STEPS; step++) {
    const [name, request] = randomArchiveRequest(random, left.ids)
    const outcomes: string[] = []
    for (const { archive } of [left, right]) {
      archive.entropy.begin(100 + step)
      outcomes.push(await outcomeOf(archive, request))
    }
    const [one = '', other = ''] = outcomes
    if (one !== other) leaks.push(`${role}, ${name}: the answers differ\n  ${one}\n  ${other}`)
    if (canaries.findIn(outcomes.join('\n')).size > 0) leaks.push(`${role}, ${name}: an answer holds a canary`)
  }
  for (const { archive } of [left, right]) {
    if (canaries.findIn(archive.noise.join('\n')).size > 0) leaks.push(`${role}: errors, spans or the log hold a canary`)
    if (canaries.findIn(await archive.atRest()).size > 0) leaks.push(`${role}: events or storage hold a canary`)
    await archive.vault.close()
  }
  return leaks
}
