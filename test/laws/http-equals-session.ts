/** Law: an answer over HTTP is the result of the session's method, and an error over HTTP is the session's error. */
import { isDeepStrictEqual } from 'node:util'
import { openEqualVaults } from '../support/http/equal-vaults.ts'
import { carried } from '../support/http/request-over-http.ts'
import type { Distortion } from '../support/http/serve-router.ts'
import { requestText } from '../support/leaks/known-values.ts'
import { validRequest } from '../support/leaks/requests.ts'
import { randomFor } from '../support/random/seeded-random.ts'
import type { Law } from './law.ts'

/** Operations of a case. */
const STEPS = 50

export const httpEqualsSession: Law = {
  name: 'http-equals-session',
  statement: 'A request over HTTP answers what the method of the session returns or throws, and stores the same',
  unit: 'operations',
  figures: { test: 1000, soak: 200_000 },
  weight: 2,
  open: () => ({
    async check({ seed }) {
      const { compared, differences } = await compareTransports(seed, STEPS)
      if (differences.length > 0) throw new Error(differences.join('\n'))
      return compared
    },
  }),
}

/** What a comparison found. */
export interface ComparedTransports {
  /** Operations that HTTP can carry. */
  readonly compared: number
  /** One line each. */
  readonly differences: readonly string[]
}

/** Sends random calls over HTTP and by a session, to vaults that are equal at first. */
export async function compareTransports(seed: string, steps: number, distort?: Distortion): Promise<ComparedTransports> {
  const random = randomFor(seed)
  const vaults = await openEqualVaults(random, seed, distort)
  const differences: string[] = []
  let compared = 0
  try {
    for (let step = 0; step < steps && differences.length === 0; step++) {
      const request = carried(validRequest(random, vaults.known))
      if (request === undefined) continue
      compared++
      const [answer, expected] = await vaults.step(request)
      if (!isDeepStrictEqual(answer, expected))
        differences.push(`${requestText(request)}\n  ${JSON.stringify(answer)}\n  ${JSON.stringify(expected)}`)
    }
    const [overHttp, bySession] = await vaults.contents()
    if (differences.length === 0 && overHttp !== bySession)
      differences.push(`the vaults differ at the end\n  ${overHttp}\n  ${bySession}`)
  } finally {
    await vaults.close()
  }
  return { compared, differences: differences.map((difference) => `roles ${vaults.caller.roles.join()}: ${difference}`) }
}
