/** A project that has its packages from the registry and ours from the tarball, as an application has them. */
import { globSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { emptyProject, type Project } from './project.ts'
import type { Trial } from './trial.ts'

/** Programs that use a vault, and the one file that they share. */
const PROGRAMS = ['use-vault.mjs', 'memory.mjs', 'sqlite.mjs']

/** What is installed. */
export interface Installation {
  /** Names with versions, or paths of tarballs. */
  readonly packages: readonly string[]
  /** Names of packages whose installation may run programs. */
  readonly mayRun?: readonly string[]
  /** Variables of the environment, besides those of this process. */
  readonly env?: Readonly<Record<string, string>>
}

/** Creates a project and installs packages into it. Returns undefined if that fails. */
export function installProject(trial: Trial, name: string, installation: Installation): Project | undefined {
  const { packages, mayRun = [], env = {} } = installation
  const project = emptyProject(trial, name, { files: PROGRAMS.map((program) => `programs/${program}`) })
  const allowScripts = Object.fromEntries(mayRun.map((one) => [one, true]))
  project.write('package.json', JSON.stringify({ name, private: true, type: 'module', allowScripts }))
  const names = packages.map((one) => (one.endsWith('.tgz') ? basename(one) : one)).join(', ')
  const quiet = ['--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error']
  // Without them npm waits for minutes before it says that there is no registry.
  const patience = ['--fetch-retries=2', '--fetch-retry-mintimeout=1000', '--fetch-retry-maxtimeout=5000']
  const what = `npm installs ${names}, for which it needs the registry`
  const command = { command: 'npm', args: ['install', ...quiet, ...patience, ...packages], folder: project.folder, env }
  return trial.run(what, command) ? project : undefined
}

/** A version of Node: the path of its program, and the folder of the headers for what is compiled for it. */
export interface InstalledNode {
  readonly program: string
  readonly headers: string
}

/** Installs a version of Node into a project of its own. Returns undefined if that fails. */
export function installNode(trial: Trial, version: string): InstalledNode | undefined {
  const project = installProject(trial, `node-${version}`, { packages: [`node@${version}`], mayRun: ['node'] })
  if (project === undefined) return undefined
  const [include = ''] = globSync('node_modules/node/node_modules/*/include', { cwd: project.folder })
  return { program: join(project.folder, 'node_modules/.bin/node'), headers: join(project.folder, dirname(include)) }
}
