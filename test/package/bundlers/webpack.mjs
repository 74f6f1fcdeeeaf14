/** Bundles a program for Node with webpack. The drivers of databases stay packages, because they have native code. */
import { resolve } from 'node:path'
import webpack from 'webpack'

const config = {
  mode: 'production',
  target: 'node22',
  entry: resolve('sqlite.mjs'),
  output: { path: resolve('webpack'), filename: 'sqlite.cjs' },
  externals: { 'better-sqlite3': 'commonjs better-sqlite3' },
  // esbuild makes names shorter in a second; this takes half a minute for it.
  optimization: { minimize: false },
}

webpack(config, (error, stats) => {
  const problems = error ?? (stats.hasErrors() || stats.hasWarnings() ? stats.toString('errors-warnings') : undefined)
  if (problems !== undefined) throw new Error(String(problems))
})
