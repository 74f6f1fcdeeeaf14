/** Law: keys are rotated beside readers and writers, whatever becomes of the process that does it. */
import { type Engine, engineInTurn, onFresh, openPlaces } from '../support/storages/places.ts'
import { figureOf, type TrialReport } from '../support/trials/report.ts'
import { type RotationTrial, runRotationTrial } from '../support/trials/rotation-trial.ts'
import type { Law } from './law.ts'

/** Rotations of a case, and kills of the process that rotates. */
const ROTATIONS = Number(process.env.ROTATIONS ?? 1)
const KILLS = Number(process.env.ROTATION_KILLS ?? 1)

export const keyRotation: Law = {
  name: 'key-rotation',
  statement:
    'Eight writers and eight readers in three processes notice nothing of rotations that are killed, and no body keeps an older key',
  unit: 'calls beside rotations',
  figures: { test: 100, soak: 100_000 },
  weight: 2,
  async open({ postgresUrl }) {
    const places = await openPlaces(postgresUrl)
    return {
      // A case is on all engines, so that no figure is reached on one alone.
      async check({ seed }) {
        let figure = 0
        for (const number of [0, 1, 2]) figure += figureOf(await rotateOn(engineInTurn(places, number), seed))
        return figure
      },
      close: () => places.close(),
    }
  },
}

/** The part of a case on one engine. */
export function rotateOn(engine: Engine, seed: string, control: Pick<RotationTrial, 'isBlind'> = {}): Promise<TrialReport> {
  return onFresh(engine, (place) => runRotationTrial({ place, seed, rotations: ROTATIONS, kills: KILLS, ...control })).then(
    (report) => {
      if (process.env.ROTATIONS !== undefined) console.info(`${engine.name}: ${report.summary}`)
      return report
    },
  )
}
