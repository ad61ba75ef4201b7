// The families of the zoo's models, one file each. To add a model: a function in its family's file
// and a row there, a case in tests/golden/make_zoo.py.
#pragma once

#include <vector>

#include "schemas/model/zoo/zoo.h"

namespace trainyard::model {

// linear_regression, logistic_regression, softmax_regression, mlp, wide_and_deep
void add_feature_models(std::vector<ZooModel>& models);
// lenet5, cifar_cnn, vgg11
void add_convolutional_models(std::vector<ZooModel>& models);
// resnet18, resnet34, resnet50
void add_residual_models(std::vector<ZooModel>& models);
// lstm_classifier, gru_classifier, crnn
void add_recurrent_models(std::vector<ZooModel>& models);
// gpt, gpt2_small, transformer_classifier
void add_transformers(std::vector<ZooModel>& models);
// deepfm, dlrm, two_tower
void add_recommenders(std::vector<ZooModel>& models);

}  // namespace trainyard::model
