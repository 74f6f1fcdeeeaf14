/** Law: an operation whose storage calls fail has changed nothing, and says when that is unknown. */
import type { StorageHandle } from '../../src/core/ports/storage.ts'
import { engineInTurn, onFresh, openPlaces } from '../support/storages/places.ts'
import { runFailingCallsTrial } from '../support/trials/failing-calls-trial.ts'
import { figureOf } from '../support/trials/report.ts'
import type { Law } from './law.ts'

/** Failed calls of one case. */
const FAULTS = 70

export const failingCalls: Law = {
  name: 'failing-calls',
  statement: 'Operations whose storage calls fail change nothing, leave no half event, and later ones work',
  unit: 'failed calls',
  figures: { test: 420, soak: 100_000 },
  weight: 1,
  async open({ postgresUrl }) {
    const places = await openPlaces(postgresUrl)
    return {
      async check({ number, seed }) {
        return onFresh(engineInTurn(places, number), async (place) => figureOf(await failCalls(place.open(), seed)))
      },
      close: () => places.close(),
    }
  },
}

/** One case. Closes the storage. */
export function failCalls(storage: StorageHandle, seed: string) {
  return runFailingCallsTrial({ storage, seed, faults: FAULTS })
}
