/** Tries the packed package as applications use it: `node scripts/check-package.ts quick`, `runtimes` or both. `runtimes` needs the registry. */
import { checkBun } from './package-trial/check-bun.ts'
import { checkBundles } from './package-trial/check-bundles.ts'
import { checkConsumers } from './package-trial/check-consumers.ts'
import { checkContents } from './package-trial/check-contents.ts'
import { checkEntryPoints } from './package-trial/check-entry-points.ts'
import { checkJest } from './package-trial/check-jest.ts'
import { type PackedPackage, packPackage } from './package-trial/packed-package.ts'
import { startTrial, type Trial } from './package-trial/trial.ts'

type Check = (trial: Trial, packed: PackedPackage) => void

const CHECKS: Readonly<Record<string, readonly Check[]>> = {
  quick: [checkContents, checkEntryPoints, checkConsumers, checkJest, checkBundles, checkBun],
}

const trial = startTrial()
try {
  const packed = packPackage(trial)
  for (const part of process.argv.slice(2)) {
    const checks = CHECKS[part]
    if (checks === undefined) throw new Error(`Specify one of ${Object.keys(CHECKS).join(', ')}.`)
    for (const check of checks) check(trial, packed)
  }
} finally {
  trial.end()
}
