// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Apache commons-pool2's GenericKeyedObjectPool on the suites that it can do, as a JSON file in the form of Google
// Benchmark on standard output. Its own program, since it needs a Java machine.
//
// It bounds idle objects per key and live ones in all; it has no bound on idle objects in all, so the suites at the budget
// are not for it.
import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import org.apache.commons.pool2.BaseKeyedPooledObjectFactory;
import org.apache.commons.pool2.PooledObject;
import org.apache.commons.pool2.impl.DefaultPooledObject;
import org.apache.commons.pool2.impl.GenericKeyedObjectPool;
import org.apache.commons.pool2.impl.GenericKeyedObjectPoolConfig;

public final class PoolBench {
  static final class Widget {
    final long value;

    Widget(long seed) {
      value = seed;
    }
  }

  static final class Widgets extends BaseKeyedPooledObjectFactory<Long, Widget> {
    @Override
    public Widget create(Long key) {
      return new Widget(key);
    }

    @Override
    public PooledObject<Widget> wrap(Widget widget) {
      return new DefaultPooledObject<>(widget);
    }
  }

  interface Keys {
    Long[] of(int thread);
  }

  static volatile long sink;

  static GenericKeyedObjectPool<Long, Widget> pool() {
    GenericKeyedObjectPoolConfig<Widget> config = new GenericKeyedObjectPoolConfig<>();
    config.setMaxTotal(-1);
    config.setMaxTotalPerKey(-1);
    config.setMaxIdlePerKey(64);
    config.setJmxEnabled(false);
    return new GenericKeyedObjectPool<>(new Widgets(), config);
  }

  /** Wall time per pair over all threads, in nanoseconds. */
  static double measure(Keys keys, int threads, long pairs) throws Exception {
    try (GenericKeyedObjectPool<Long, Widget> pool = pool()) {
      CyclicBarrier start = new CyclicBarrier(threads + 1);
      CountDownLatch done = new CountDownLatch(threads);
      Throwable[] failure = new Throwable[1];
      for (int t = 0; t < threads; ++t) {
        Long[] mine = keys.of(t);
        int first = t % mine.length;
        new Thread(() -> {
          long sum = 0;
          try {
            start.await();
            int next = first;
            for (long i = 0; i < pairs; ++i) {
              Widget widget = pool.borrowObject(mine[next]);
              sum += widget.value;
              pool.returnObject(mine[next], widget);
              next = (next + 1) % mine.length;
            }
          } catch (Throwable thrown) {
            synchronized (failure) {
              failure[0] = thrown;
            }
          }
          sink = sum;
          done.countDown();
        }).start();
      }
      start.await();
      long begin = System.nanoTime();
      done.await();
      double elapsed = System.nanoTime() - begin;
      if (failure[0] != null) {
        throw new IllegalStateException("commons-pool2 failed", failure[0]);
      }
      return elapsed / ((double) pairs * threads);
    }
  }

  public static void main(String[] arguments) throws Exception {
    int repetitions = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 5;
    Object[][] suites = {
      {"own_keys.int", (Keys) t -> {
        Long[] keys = new Long[8];
        for (int i = 0; i < 8; ++i) {
          keys[i] = 8L * t + i;
        }
        return keys;
      }},
      {"same_4_keys.int", (Keys) t -> new Long[] {0L, 1L, 2L, 3L}},
      {"one_key.int.exclusive", (Keys) t -> new Long[] {0L}},
    };
    StringBuilder out = new StringBuilder();
    out.append("{\"context\": {\"num_cpus\": ").append(Runtime.getRuntime().availableProcessors());
    out.append("},\n \"benchmarks\": [");
    String separator = "\n";
    for (Object[] suite : suites) {
      Keys keys = (Keys) suite[1];
      measure(keys, 1, 1_000_000);  // compiled by now
      for (int threads : new int[] {1, 2, 4, 8, 16}) {
        measure(keys, threads, 50_000);
        for (int repetition = 0; repetition < repetitions; ++repetition) {
          double time = measure(keys, threads, 400_000 / threads);
          String name = suite[0] + "/commons_pool2/real_time/threads:" + threads;
          out.append(separator).append(String.format(Locale.ROOT,
              "  {\"name\": \"%s\", \"run_name\": \"%s\", \"run_type\": \"iteration\", \"threads\": %d, "
                  + "\"repetition_index\": %d, \"iterations\": %d, \"real_time\": %.3f, \"cpu_time\": %.3f, "
                  + "\"time_unit\": \"ns\"}",
              name, name, threads, repetition, 400_000 / threads * threads, time, time));
          separator = ",\n";
        }
      }
    }
    out.append("\n]}");
    System.out.println(out);
  }
}
