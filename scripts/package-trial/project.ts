/** A project of an application: a fresh folder with the packed package, and with packages of this repository linked in. */
import { copyFileSync, cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { PackedPackage } from './packed-package.ts'
import { MODULES, NAME, TOP, type Trial } from './trial.ts'

const PROGRAMS = join(TOP, 'test/package')

/** What a project is made with. */
export interface ProjectOptions {
  readonly type?: 'module' | 'commonjs'
  /** Packages of this repository that are linked in. */
  readonly packages?: readonly string[]
  /** Files of `test/package` that are copied into it, without their folders. */
  readonly files?: readonly string[]
}

/** A project, and how commands run in it. */
export interface Project {
  readonly folder: string
  readonly write: (name: string, text: string) => void
  readonly run: (what: string, command: string, args: readonly string[]) => boolean
}

/** Creates a project with the packed package in its node_modules. */
export function createProject(trial: Trial, packed: PackedPackage, name: string, options: ProjectOptions = {}): Project {
  const project = emptyProject(trial, name, options)
  cpSync(packed.folder, join(project.folder, 'node_modules', NAME), { recursive: true })
  for (const link of options.packages ?? []) linkPackage(project.folder, link)
  return project
}

/** Creates a project without packages. */
export function emptyProject(trial: Trial, name: string, { type = 'module', files = [] }: ProjectOptions = {}): Project {
  const folder = join(trial.home, name)
  mkdirSync(join(folder, 'node_modules'), { recursive: true })
  const project: Project = {
    folder,
    write: (file, text) => writeFileSync(join(folder, file), text),
    run: (what, command, args) => trial.run(what, { command, args, folder }),
  }
  project.write('package.json', JSON.stringify({ name, private: true, type }))
  for (const file of files) copyFileSync(join(PROGRAMS, file), join(folder, basename(file)))
  return project
}

/** Links a package of this repository into a project. */
function linkPackage(folder: string, name: string): void {
  const link = join(folder, 'node_modules', name)
  mkdirSync(dirname(link), { recursive: true })
  symlinkSync(join(MODULES, name), link)
}
