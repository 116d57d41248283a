// SPDX-License-Identifier: Apache-2.0
// Tasks of a scripted server: those of 2025-11-25, which a client asks for, and those of the extension for
// 2026-07-28, where the server decides. Nothing is timed: a task is done when it has been looked at twice, or when its
// result is waited for. `task` and `taskOnly` just run, the first at once for a client of 2026-07-28 without the
// extension; `taskAsking` asks its client for the roots on the way.
import crypto from 'node:crypto';

import { meta, MODERN, TASKS } from '../lib/rules.mjs';
import { RpcError } from './peer.mjs';

const POLL_MS = 10;
const TTL_MS = 60_000;
const LOOKS = 2;
const TERMINAL = ['completed', 'failed', 'cancelled'];
const NAMES = ['task', 'taskOnly', 'taskAsking'];

class Task {
  taskId = crypto.randomUUID();
  status = 'working';
  createdAt = new Date().toISOString();
  looks = 0;

  constructor(name, args, question) {
    Object.assign(this, { name, args, question: name === 'taskAsking' ? question : undefined });
  }

  get done() {
    return TERMINAL.includes(this.status);
  }

  // One look further.
  step() {
    if (this.done || this.status === 'input_required') return;
    if (++this.looks < LOOKS) return;
    this.status = this.question && !this.answer ? 'input_required' : 'completed';
  }

  answered(answer) {
    this.answer = answer;
    this.status = 'completed';
  }

  describe(rev) {
    const { taskId, status, createdAt } = this;
    const life = rev === MODERN ? { ttlMs: TTL_MS, pollIntervalMs: POLL_MS } : { ttl: TTL_MS, pollInterval: POLL_MS };
    return { taskId, status, createdAt, lastUpdatedAt: createdAt, ...life };
  }
}

const mayTask = (up, entry) => Object.hasOwn(up.told(entry).extensions ?? {}, TASKS);

function needTasks(up, entry) {
  if (mayTask(up, entry)) return;
  throw new RpcError(-32021, 'tasks are needed', { requiredCapabilities: { extensions: { [TASKS]: {} } } });
}

// `run(name, args)` gives the result of a tool that asks nothing; `question` is what the other one asks.
export function serveTasks(up, question, run) {
  const tasks = new Map();
  const find = (taskId) => {
    if (!tasks.has(taskId)) throw new RpcError(-32602, `unknown task ${taskId}`);
    return tasks.get(taskId);
  };
  const resultOf = (task) => {
    const content = [{ type: 'text', text: 'answered' }];
    return task.answer ? { content, structuredContent: { roots: task.answer } } : run(task.name, task.args);
  };
  const start = (name, args) => {
    const task = new Task(name, args, question);
    tasks.set(task.taskId, task);
    return task.describe(up.rev);
  };
  up.tasks = tasks;
  if (up.modern) serveExtension(up, find, resultOf, start);
  else serveCore(up, find, resultOf, start);
}

function serveCore(up, find, resultOf, start) {
  const related = (task) => ({ _meta: { [meta('related-task')]: { taskId: task.taskId } } });
  up.makeTask = (name, args, { msg }) => {
    const asTask = msg.params.task !== undefined;
    if (!NAMES.includes(name) && !asTask) return undefined;
    if (!NAMES.includes(name)) throw new RpcError(-32601, `${name} does not run as a task`);
    if (!asTask) throw new RpcError(-32601, `${name} runs as a task only`);
    return { task: start(name, args) };
  };
  up.on('tasks/get', ({ taskId }) => {
    find(taskId).step();
    return find(taskId).describe(up.rev);
  });
  // Waits for the end, and asks on the way.
  up.on('tasks/result', async ({ taskId }, { peer, ctx }) => {
    const task = find(taskId);
    if (task.question && !task.answer && !task.done) {
      task.status = 'input_required';
      const { method, params } = task.question;
      task.answered(await peer.ask(method, { ...params, ...related(task) }, { ctx }));
    }
    if (task.status === 'cancelled') throw new RpcError(-32000, 'the task was cancelled');
    task.status = 'completed';
    return { ...resultOf(task), ...related(task) };
  });
  up.on('tasks/cancel', ({ taskId }) => {
    const task = find(taskId);
    if (task.done) throw new RpcError(-32602, `task ${taskId} is at its end`);
    task.status = 'cancelled';
    return task.describe(up.rev);
  });
}

function serveExtension(up, find, resultOf, start) {
  up.makeTask = (name, args, entry) => {
    if (!NAMES.includes(name)) return undefined;
    if (name === 'taskOnly') needTasks(up, entry);
    if (!mayTask(up, entry)) return undefined;
    return { resultType: 'task', ...start(name, args) };
  };
  const on = (method, handler) =>
    up.on(method, (params, entry) => {
      needTasks(up, entry);
      return handler(find(params.taskId), params);
    });
  const whole = (task) => ({
    ...task.describe(MODERN),
    ...(task.status === 'input_required' && { inputRequests: { roots: task.question } }),
    ...(task.status === 'completed' && { result: { resultType: 'complete', ...resultOf(task) } }),
  });
  // Tells whoever listens that the latest task is done.
  up.finishTask = async () => {
    const task = [...up.tasks.values()].at(-1);
    const wanted = (l) => l.wishes.taskIds?.includes(task.taskId);
    await up.listened(() => [...up.listens].some(wanted), 'a subscription to the task');
    task.status = 'completed';
    await up.broadcast('notifications/tasks', whole(task), (ids) => ids.includes(task.taskId));
  };
  on('tasks/get', (task) => {
    task.step();
    return whole(task);
  });
  on('tasks/update', (task, { inputResponses }) => {
    if (inputResponses?.roots) task.answered(inputResponses.roots);
    return {};
  });
  on('tasks/cancel', (task) => {
    if (!task.done) task.status = 'cancelled';
    return {};
  });
}
