/** Bundles a program of a server with esbuild, rollup and webpack, and runs each bundle. The driver of the database stays a package. */
import { join } from 'node:path'
import type { PackedPackage } from './packed-package.ts'
import { createProject } from './project.ts'
import { MODULES, type Trial } from './trial.ts'

/** Runs the checks. */
export function checkBundles(trial: Trial, packed: PackedPackage): void {
  const project = createProject(trial, packed, 'bundles', {
    packages: ['better-sqlite3', 'webpack'],
    files: ['programs/use-vault.mjs', 'programs/sqlite.mjs', 'bundlers/rollup.config.mjs', 'bundlers/webpack.mjs'],
  })
  const esbuild = ['sqlite.mjs', '--bundle', '--platform=node', '--external:better-sqlite3', '--minify', '--log-level=warning']
  const built = project.run('esbuild bundles', join(MODULES, '.bin/esbuild'), [...esbuild, '--outdir=esbuild', '--format=esm'])
  if (built) project.run('the bundle of esbuild runs', 'node', ['esbuild/sqlite.js'])
  const rolled = project.run('rollup bundles', 'node', [join(MODULES, 'rollup/dist/bin/rollup'), '-c', '--silent'])
  if (rolled) project.run('the bundle of rollup runs', 'node', ['rollup/sqlite.mjs'])
  if (project.run('webpack bundles', 'node', ['webpack.mjs'])) {
    project.run('the bundle of webpack runs', 'node', ['webpack/sqlite.cjs'])
  }
}
