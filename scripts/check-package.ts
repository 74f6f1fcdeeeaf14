/** Tries the packed package as applications use it: `node scripts/check-package.ts quick runtimes drivers more`, or some of these parts. */
import { checkBun } from './package-trial/check-bun.ts'
import { checkBundles } from './package-trial/check-bundles.ts'
import { checkCommand } from './package-trial/check-command.ts'
import { checkConsumers } from './package-trial/check-consumers.ts'
import { checkContents } from './package-trial/check-contents.ts'
import { checkDriverVersions } from './package-trial/check-driver-versions.ts'
import { checkEntryPoints } from './package-trial/check-entry-points.ts'
import { checkFirstProgram } from './package-trial/check-first-program.ts'
import { checkJest } from './package-trial/check-jest.ts'
import { checkMissingPackages } from './package-trial/check-missing-packages.ts'
import { checkNext } from './package-trial/check-next.ts'
import { checkRuntimes } from './package-trial/check-runtimes.ts'
import { type PackedPackage, packPackage } from './package-trial/packed-package.ts'
import { startTrial, type Trial } from './package-trial/trial.ts'

type Check = (trial: Trial, packed: PackedPackage) => void

/** The checks by part. All but the quick ones install packages from the registry. */
const CHECKS: Readonly<Record<string, readonly Check[]>> = {
  quick: [
    checkContents,
    checkEntryPoints,
    checkFirstProgram,
    checkCommand,
    checkMissingPackages,
    checkConsumers,
    checkJest,
    checkBundles,
    checkBun,
  ],
  runtimes: [checkRuntimes],
  drivers: [checkDriverVersions],
  more: [checkNext],
}

const parts = process.argv.slice(2)
if (parts.length === 0 || parts.some((part) => !Object.hasOwn(CHECKS, part))) {
  throw new Error(`Specify parts of the trial: ${Object.keys(CHECKS).join(', ')}.`)
}
const trial = startTrial()
try {
  const packed = packPackage(trial)
  for (const part of parts) for (const check of CHECKS[part] ?? []) check(trial, packed)
} finally {
  trial.end()
}
