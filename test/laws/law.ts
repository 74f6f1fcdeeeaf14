/** What a law is: a property that is checked case by case, with the figure that `npm test` runs and the one that the soak is asked for. */
import type { SeededRandom } from '../support/random/seeded-random.ts'

/** One law. `npm test` and the soak run the same one, with another figure. */
export interface Law {
  /** Lower case with hyphens. `npm run soak -- --law <name>` runs it alone. */
  readonly name: string
  /** The property in one sentence. */
  readonly statement: string
  /** What a figure counts, in the plural. */
  readonly unit: string
  readonly figures: {
    /** Counted in `npm test`, at least. */
    readonly test: number
    /** Asked of the soak. */
    readonly soak: number
  }
  /** Share of the soak's time, relative to other laws. */
  readonly weight: number
  /** Opens what all cases share. It runs once, in the process that runs the cases. */
  open(servers: LawServers): Promise<LawScene> | LawScene
}

/** Servers of a run. */
export interface LawServers {
  /** A superuser's address of a PostgreSQL; `freshDatabase` and `openPlaces` take it. */
  readonly postgresUrl: string
}

/** A law that is ready to run. */
export interface LawScene {
  /**
   * Checks one case and returns how much of the figure it was; 0 if the random choices gave nothing to check. Throws if the law does
   * not hold. All input follows from the case: a scene that has run other cases before gives the same result.
   */
  check(lawCase: LawCase): Promise<number> | number
  /** What the cases met, beside the figure: one part of a sentence, for the line of the soak. */
  met?(): string
  close?(): Promise<void>
}

/** One case. */
export interface LawCase {
  /** Counts from 0, for what cases take in turn: an engine, a kind of input. */
  readonly number: number
  /** The seed of the run with the number of the case. */
  readonly seed: string
  /** Draws of this seed. */
  readonly random: SeededRandom
}
